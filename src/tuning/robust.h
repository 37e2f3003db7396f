#pragma once

#include <vector>

namespace octet {

/// The middle value; of an even number the mean of the two in the middle. `values` must not be empty.
double median(std::vector<double> values);

/// The value below which this part lies, 0 to 1: of n values that at floor(part · (n - 1)).
double low_quantile(std::vector<double> values, double part);

/// Standard deviation of normal residuals from the median of their absolute values, which outliers do not move:
/// 1.4826 · median |r|, with the correction for few residuals of Rousseeuw and Leroy (1987), 1 + 5 / (n - parameters).
double robust_scale(const std::vector<double>& residuals, int parameters);

/// Weight of a residual by Tukey's biweight: 1 at 0, 0 from 4.685 on (95 % of the efficiency of least squares where
/// the noise is normal). `standardised`: residual over scale.
double tukey_weight(double standardised);

/// Half the width of a 95 % interval in standard errors: the 97.5 % quantile of Student's t. `freedom` >= 1.
double student_95(double freedom);

}  // namespace octet
