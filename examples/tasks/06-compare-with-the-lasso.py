"""What would the lasso have selected? (docs/faq.md "The selection differs from my lasso's", docs/python.md "Several results")

usage: 06-compare-with-the-lasso.py TABLE.csv TARGET
"""

import sys

import pandas as pd
from sklearn.linear_model import LassoCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import grip2
from grip2.statistics import LassoCoefficient


def main(table: str, target: str) -> None:
    X = pd.read_csv(table)
    y = X.pop(target)

    plain = make_pipeline(StandardScaler(), LassoCV(random_state=0)).fit(X, y)[-1]
    print("the cross-validated lasso keeps, without control of any rate:", *X.columns[plain.coef_ != 0])

    comparison = grip2.compare(
        {
            "default": grip2.select(X, y, fdr=0.2, random_state=0),
            "lasso with knockoffs": grip2.select(X, y, fdr=0.2, statistic=LassoCoefficient(), random_state=0),
        }
    )
    print(comparison.to_frame().set_index("name").filter(like="q_value").to_string())
    print("selected by both:", *comparison.selected_by_all)


if __name__ == "__main__":
    main(*sys.argv[1:])
