"""The paper's experiments: plan, run, store, summarise and draw, as separable steps."""
