"""Why was nothing selected? On a table of pure noise. (docs/faq.md "Nothing was selected")"""

import numpy as np
import pandas as pd

from grip2 import KnockoffSelector


def main() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((300, 12)), columns=[f"x{j}" for j in range(12)])
    y = rng.standard_normal(300)  # knows nothing of X

    result = KnockoffSelector(fdr=0.1, random_state=0).fit(X, y).result_
    print(result)
    print("1. Is the level reachable, and what is the likely cause?", result.reason)
    print("2. Are columns nearly their knockoffs?", f"mean correlation {result.knockoff_quality.mean_correlation:.2f}")
    for stage in result.facts.stages:
        print(f"3. Does anything predict? {stage.name}: {100 * stage.held_out_share:.1f} % of the variance, held out")
    print(result.to_frame()[["name", "W", "q_value"]].head())


if __name__ == "__main__":
    main()
