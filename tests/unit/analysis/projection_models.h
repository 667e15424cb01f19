// SPDX-License-Identifier: Apache-2.0
// Noise whose law is known: detours that come at random while work is done, with three distributions of their length.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace noised::test {

inline constexpr double kGrainNs = 1e6;

inline double uniform(std::mt19937_64& random) {
  return (static_cast<double>(random() >> 11U) + 0.5) / 9007199254740992.0;  // 2^53: never 0, never 1
}

struct NoiseModel {
  std::string name;
  double per_grain = 0.2;  ///< detours for each grain of work: they are a Poisson process of work, not of time
  double mean_ns = 0;
  std::function<double(std::mt19937_64&)> length;
  std::function<double(double)> delayed_by;  ///< P(X > x ns) in closed form; empty: there is none

  // Of a phase that begins when the one before has ended: in no detour.

  /// Unless it meets none: closed form for any length.
  [[nodiscard]] double delayed() const { return 1 - std::exp(-per_grain); }
  /// The delay of one phase.
  [[nodiscard]] double draw(std::mt19937_64& random) const {
    double delay = 0;
    for (double at = -std::log(uniform(random)); at < per_grain; at -= std::log(uniform(random)))
      delay += length(random);
    return delay;
  }
};

/// P(N = k) of a Poisson number.
inline double poisson(double mean, int k) {
  if (k < 0 || mean <= 0) return k == 0 ? 1 : 0;
  return std::exp(-mean + k * std::log(mean) - std::lgamma(k + 1.0));
}

/// Lengths exponential: their sums are Erlang's.
inline NoiseModel exponential_noise(double mean_ns) {
  NoiseModel model;
  model.name = "exponential";
  model.mean_ns = mean_ns;
  model.length = [=](std::mt19937_64& random) { return -mean_ns * std::log(uniform(random)); };
  model.delayed_by = [model](double x) {
    const double y = x / model.mean_ns;
    double sum = 0;
    double erlang = 0;  // P(sum of k lengths > x)
    for (int k = 1; k < 40; ++k) {
      erlang += y > 0 ? poisson(y, k - 1) : (k == 1 ? 1 : 0);
      sum += poisson(model.per_grain, k) * erlang;
    }
    return sum;
  };
  return model;
}

/// One of two lengths.
inline NoiseModel bimodal_noise(double short_ns, double long_ns, double long_share, double per_grain = 0.2) {
  NoiseModel model;
  model.per_grain = per_grain;
  model.name = "bimodal";
  model.mean_ns = (1 - long_share) * short_ns + long_share * long_ns;
  model.length = [=](std::mt19937_64& random) { return uniform(random) < long_share ? long_ns : short_ns; };
  model.delayed_by = [=](double x) {
    double sum = 0;
    for (int i = 0; i < 10; ++i) {
      for (int j = 0; j < 8; ++j) {
        const double met = i * short_ns + j * long_ns;
        const double probability =
            poisson(model.per_grain * (1 - long_share), i) * poisson(model.per_grain * long_share, j);
        if (met > x) sum += probability;
      }
    }
    return sum;
  };
  return model;
}

/// Lengths at least `least_ns`, and longer than x with probability (least / x)^tail: sums have no closed form.
inline NoiseModel pareto_noise(double least_ns, double tail) {
  NoiseModel model;
  model.name = "Pareto";
  model.mean_ns = least_ns * tail / (tail - 1);
  model.length = [=](std::mt19937_64& random) { return least_ns * std::pow(uniform(random), -1 / tail); };
  return model;
}

/// The delays of so many phases, rising.
inline std::vector<double> draw_delays(const NoiseModel& model, std::size_t count, std::mt19937_64& random) {
  std::vector<double> delays(count);
  for (double& delay : delays) delay = model.draw(random);
  std::sort(delays.begin(), delays.end());
  return delays;
}

}  // namespace noised::test
