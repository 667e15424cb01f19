// SPDX-License-Identifier: Apache-2.0
// With 16384 rows and 25 regressors 10 million multiplications.
#include "analysis/fixed_work/cost_fit.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace noised::analysis {
namespace {

// Solves transposed(lower) * x = right for the first `size` rows, in place.
void solve_upper(const SymmetricMatrix& lower, std::size_t size, std::vector<double>& right) {
  for (std::size_t i = size; i-- > 0;) {
    for (std::size_t k = i + 1; k < size; ++k) right[i] -= lower(k, i) * right[k];
    right[i] /= lower(i, i);
  }
}

void solve_lower(const SymmetricMatrix& lower, std::vector<double>& right) {
  for (std::size_t i = 0; i < right.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) right[i] -= lower(i, k) * right[k];
    right[i] /= lower(i, i);
  }
}

}  // namespace

double SymmetricMatrix::factor_row(std::size_t row, SymmetricMatrix& lower) const {
  double left = (*this)(row, row);
  for (std::size_t column = 0; column < row; ++column) {
    double value = (*this)(row, column);
    for (std::size_t k = 0; k < column; ++k) value -= lower(row, k) * lower(column, k);
    lower(row, column) = value / lower(column, column);
    left -= lower(row, column) * lower(row, column);
  }
  return left;
}

std::optional<SymmetricMatrix::Dependency> SymmetricMatrix::dependency(double tolerance) const {
  SymmetricMatrix lower(size_);
  for (std::size_t row = 0; row < size_; ++row) {
    const double left = factor_row(row, lower);
    if (left > tolerance * (*this)(row, row)) {
      lower(row, row) = std::sqrt(left);
      continue;
    }
    Dependency found{row, std::vector<double>(row)};
    for (std::size_t k = 0; k < row; ++k) found.weights[k] = lower(row, k);
    solve_upper(lower, row, found.weights);
    for (std::size_t k = 0; k < row; ++k) {
      const double own = (*this)(row, row);
      found.weights[k] = own > 0 ? found.weights[k] * std::sqrt((*this)(k, k) / own) : 0;
    }
    return found;
  }
  return std::nullopt;
}

SymmetricMatrix SymmetricMatrix::without(std::size_t row) const {
  assert(row < size_);
  SymmetricMatrix rest(size_ - 1);
  for (std::size_t i = 0; i < rest.size_; ++i) {
    for (std::size_t k = 0; k < rest.size_; ++k) rest(i, k) = (*this)(i + (i >= row), k + (k >= row));
  }
  return rest;
}

SymmetricMatrix SymmetricMatrix::inverse() const {
  SymmetricMatrix lower(size_);
  for (std::size_t row = 0; row < size_; ++row) {
    const double left = factor_row(row, lower);
    assert(left > 0);
    lower(row, row) = std::sqrt(left);
  }
  SymmetricMatrix inverse(size_);
  std::vector<double> unit;
  for (std::size_t column = 0; column < size_; ++column) {
    unit.assign(size_, 0);
    unit[column] = 1;
    solve_lower(lower, unit);
    solve_upper(lower, size_, unit);
    for (std::size_t row = 0; row < size_; ++row) inverse(row, column) = unit[row];
  }
  return inverse;
}

namespace {

// The error of what the others explain to so much is 4.5 times what it would be by itself.
constexpr double kTellsApart = 0.05;
// Those of the others that explain it: their weight in units of spreads.
constexpr double kExplains = 0.1;
// A companion is there in so many of the episodes of those that it comes with.
constexpr double kAlways = 0.95;
// A row that decides its own fit has no residual: nothing can be learned from it about errors.
constexpr double kLeastFree = 0.01;

std::vector<double> times_vector(const SymmetricMatrix& matrix, const std::vector<double>& vector) {
  std::vector<double> product(vector.size());
  for (std::size_t i = 0; i < vector.size(); ++i) {
    for (std::size_t k = 0; k < vector.size(); ++k) product[i] += matrix(i, k) * vector[k];
  }
  return product;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

CostFit::CostFit(std::vector<FitRow> rows, std::size_t regressors)
    : rows_(std::move(rows)), with_base_(regressors), together_(regressors), products_(regressors) {
  for (std::size_t i = 0; i < regressors; ++i) groups_.push_back({i, {}, false});
  for (const FitRow& row : rows_) add_products(row);
  for (std::size_t i = 0; i < regressors; ++i) {
    for (std::size_t k = 0; k < regressors; ++k) products_(i, k) -= with_base_[i] * with_base_[k] / base_;
  }
  group();
}

void CostFit::add_products(const FitRow& row) {
  base_ += row.count * row.phases;
  for (std::size_t i = 0; i < row.activations.size(); ++i) {
    if (row.activations[i] == 0) continue;
    with_base_[i] += row.count * row.activations[i];
    for (std::size_t k = 0; k < row.activations.size(); ++k) {
      products_(i, k) += row.count / row.phases * row.activations[i] * row.activations[k];
      together_(i, k) += row.activations[k] == 0 ? 0 : row.count;
    }
  }
}

// Of the episodes with `other`, those that have `group` too.
double CostFit::share_with(std::size_t group, std::size_t other) const {
  const std::size_t of = groups_[other].regressor;
  return together_(groups_[group].regressor, of) / together_(of, of);
}

// How many of its activations come with one of each of the others: least squares, among these alone.
void CostFit::fold(std::size_t companion, const std::vector<std::size_t>& others) {
  SymmetricMatrix among(others.size());
  std::vector<double> with(others.size());
  for (std::size_t i = 0; i < others.size(); ++i) {
    with[i] = products_(companion, others[i]);
    for (std::size_t k = 0; k < others.size(); ++k) among(i, k) = products_(others[i], others[k]);
  }
  // Those that depend on each other are told apart, or not, afterwards: one comes with each of them.
  constexpr double kSingular = 1e-6;
  const std::vector<double> each =
      among.dependency(kSingular) ? std::vector<double>(others.size(), 1) : times_vector(among.inverse(), with);
  const Group folded = groups_[companion];
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (each[i] < kExplains) continue;
    Group& into = groups_[others[i]];
    into.companions.push_back({folded.regressor, each[i]});
    for (const Companion& inner : folded.companions) into.companions.push_back({inner.regressor, inner.each * each[i]});
    into.tangled |= folded.tangled;
  }
}

// Those that never come without this one, if it hardly ever comes without one of them; else none.
std::vector<std::size_t> CostFit::owners(std::size_t companion) const {
  std::vector<std::size_t> owners;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (i != companion && share_with(companion, i) >= kAlways) owners.push_back(i);
  }
  double owned = 0;
  for (const FitRow& row : rows_) {
    const auto inside = [&](std::size_t group) { return activations(row, group) != 0; };
    if (inside(companion) && std::any_of(owners.begin(), owners.end(), inside)) owned += row.count;
  }
  const std::size_t own = groups_[companion].regressor;
  if (owned < kAlways * together_(own, own)) owners.clear();
  return owners;
}

void CostFit::drop(std::size_t group) {
  groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(group));
  products_ = products_.without(group);
}

// Its own cost would be known from the few episodes in which it came alone, and from how costs fail to add up.
void CostFit::fold_companions() {
  for (std::size_t i = 0; i < groups_.size();) {
    const std::vector<std::size_t> with = owners(i);
    if (with.empty()) {
      ++i;
      continue;
    }
    fold(i, with);
    drop(i);
    i = 0;
  }
}

void CostFit::group() {
  fold_companions();
  while (const auto found = products_.dependency(kTellsApart)) {
    std::vector<std::size_t> members;
    for (std::size_t k = 0; k < found->row; ++k) {
      if (std::abs(found->weights[k]) > kExplains) members.push_back(k);
    }
    members.push_back(found->row);
    std::size_t dropped = found->row;
    double best = 0;
    for (const std::size_t each : members) {
      double least = 1;
      for (const std::size_t other : members) least = std::min(least, share_with(each, other));
      if (least < best) continue;
      best = least;
      dropped = each;
    }
    if (members.size() == 1 || best < kAlways) {
      dropped = found->row;
      for (const std::size_t each : members) groups_[each].tangled = true;
    } else {
      std::erase(members, dropped);
      fold(dropped, members);
    }
    drop(dropped);
  }
}

void CostFit::add_errors(const FitRow& row, double squares, const SymmetricMatrix& inverse,
                         SymmetricMatrix& errors) const {
  std::vector<double> centred(groups_.size());
  for (std::size_t i = 0; i < centred.size(); ++i)
    centred[i] = activations(row, i) - row.phases * with_base_[groups_[i].regressor] / base_;
  const double leverage = row.phases / base_ + dot(centred, times_vector(inverse, centred)) / row.phases;
  const double free = std::max(1 - leverage, kLeastFree);
  const double weight = squares / (free * free * row.phases * row.phases);
  for (std::size_t i = 0; i < centred.size(); ++i) {
    for (std::size_t k = 0; k < centred.size(); ++k) errors(i, k) += weight * centred[i] * centred[k];
  }
}

CostFit::Costs CostFit::fit(const std::vector<FitTimes>& times, double bias_ns) const {
  assert(times.size() == rows_.size());
  const std::size_t size = groups_.size();
  double base_time = 0;
  std::vector<double> right(size);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    base_time += rows_[i].count * times[i].mean_ns;
    for (std::size_t k = 0; k < size; ++k)
      right[k] += rows_[i].count / rows_[i].phases * activations(rows_[i], k) * (times[i].mean_ns - bias_ns);
  }
  for (std::size_t k = 0; k < size; ++k) right[k] -= with_base_[groups_[k].regressor] / base_ * base_time;
  const SymmetricMatrix inverse = products_.inverse();
  const std::vector<double> costs = times_vector(inverse, right);
  Costs result;
  result.base_ns = base_time / base_;
  for (std::size_t k = 0; k < size; ++k) result.base_ns -= with_base_[groups_[k].regressor] / base_ * costs[k];

  SymmetricMatrix errors(size);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    double off_ns = times[i].mean_ns - rows_[i].phases * result.base_ns;
    for (std::size_t k = 0; k < size; ++k) off_ns -= activations(rows_[i], k) * costs[k];
    add_errors(rows_[i], times[i].squares + rows_[i].count * off_ns * off_ns, inverse, errors);
  }
  for (std::size_t k = 0; k < size; ++k) {
    std::vector<double> row(size);
    for (std::size_t i = 0; i < size; ++i) row[i] = inverse(k, i);
    result.costs.push_back({costs[k], std::sqrt(dot(row, times_vector(errors, row)))});
  }
  return result;
}

}  // namespace noised::analysis
