// SPDX-License-Identifier: Apache-2.0
// Least squares of time on what happened in it: time = base * phases + sum of cost * activations. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace noised::analysis {

// The normal equations of a least-squares fit with a few tens of regressors: by Cholesky. Pure.

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

/// So many episodes with the same phases and activations (by regressor).
struct FitRow {
  double phases = 1;
  double count = 0;
  std::vector<double> activations;
};

/// Their times: mean, and sum of the squared distances from it.
struct FitTimes {
  double mean_ns = 0;
  double squares = 0;
};

class CostFit {
 public:
  struct Cost {
    double ns = 0;
    double error_ns = 0;  ///< standard error
  };
  struct Costs {
    double base_ns = 0;
    std::vector<Cost> costs;  ///< by group
  };

  /// Another regressor, so many of whose activations come with one.
  struct Companion {
    std::size_t regressor = 0;
    double each = 0;
  };
  struct Group {
    std::size_t regressor = 0;
    std::vector<Companion> companions;
    bool tangled = false;  ///< others explain it, but none of them is there whenever it is: its cost says nothing
  };

  /// What is there whenever one of some others is, and hardly ever without one of them, has no cost of its own: what it
  /// costs is in theirs (that of an interrupt vector in those of its timers). Where the others still explain 95% or
  /// more of a regressor, the same. There must be rows without activations.
  CostFit(std::vector<FitRow> rows, std::size_t regressors);

  /// A cost is that of one activation of the group's regressor, with its companions.
  [[nodiscard]] const std::vector<Group>& groups() const { return groups_; }

  /// Weighted by 1 / phases; `times` by row. Each activation comes with `bias_ns` of time that it did not cause. Errors
  /// are HC3: right whatever the spread of each row is.
  [[nodiscard]] Costs fit(const std::vector<FitTimes>& times, double bias_ns) const;

 private:
  void add_products(const FitRow& row);
  void group();
  void fold_companions();
  [[nodiscard]] std::vector<std::size_t> owners(std::size_t companion) const;
  void drop(std::size_t group);
  void fold(std::size_t companion, const std::vector<std::size_t>& others);
  [[nodiscard]] double share_with(std::size_t group, std::size_t other) const;
  [[nodiscard]] double activations(const FitRow& row, std::size_t group) const {
    return row.activations[groups_[group].regressor];
  }
  void add_errors(const FitRow& row, double squares, const SymmetricMatrix& inverse, SymmetricMatrix& errors) const;

  std::vector<FitRow> rows_;
  std::vector<Group> groups_;
  double base_ = 0;                // product of the base with itself
  std::vector<double> with_base_;  // of each regressor with the base
  SymmetricMatrix together_;       // episodes with both
  SymmetricMatrix products_;       // of groups, what the base explains taken out (Frisch, Waugh, Lovell)
};

}  // namespace noised::analysis
