// SPDX-License-Identifier: Apache-2.0
// matrix = lower * transposed(lower), row by row.
#include "analysis/symmetric_matrix.h"

#include <cassert>
#include <cmath>

namespace noised {
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

}  // namespace noised
