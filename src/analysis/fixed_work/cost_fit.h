// SPDX-License-Identifier: Apache-2.0
// Least squares of time on what happened in it: time = base * phases + sum of cost * activations. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/symmetric_matrix.h"

namespace noised {

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

}  // namespace noised
