// SPDX-License-Identifier: Apache-2.0
// The normal equations of a least-squares fit with a few tens of regressors: by Cholesky. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace noised {

/// Symmetric and not negative: products of regressors.
class SymmetricMatrix {
 public:
  explicit SymmetricMatrix(std::size_t size) : size_(size), values_(size * size) {}

  [[nodiscard]] std::size_t size() const { return size_; }
  double& operator()(std::size_t row, std::size_t column) { return values_[row * size_ + column]; }
  double operator()(std::size_t row, std::size_t column) const { return values_[row * size_ + column]; }

  /// A regressor that those before it explain: 1 - R^2 is below the tolerance. `weights`, one for each of those, are
  /// its coefficients on them in units of their spreads.
  struct Dependency {
    std::size_t row = 0;
    std::vector<double> weights;
  };
  /// The first such regressor.
  [[nodiscard]] std::optional<Dependency> dependency(double tolerance) const;
  /// The same without one regressor.
  [[nodiscard]] SymmetricMatrix without(std::size_t row) const;
  /// Asserts that there is one: no dependency().
  [[nodiscard]] SymmetricMatrix inverse() const;

 private:
  // Row `row` of the lower triangle whose rows above are known; returns what is left of the diagonal, squared.
  double factor_row(std::size_t row, SymmetricMatrix& lower) const;

  std::size_t size_;
  std::vector<double> values_;
};

}  // namespace noised
