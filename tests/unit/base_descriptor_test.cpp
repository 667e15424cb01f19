// SPDX-License-Identifier: Apache-2.0
// A descriptor is closed exactly once, by its last owner; a small file is read whole or refused.
#include <catch2/catch_test_macros.hpp>

#include <fcntl.h>

#include "base/descriptor.h"
#include "base/read_file.h"
#include "base_temporary_directory.h"

namespace noised {

namespace {

bool is_open(int descriptor) { return ::fcntl(descriptor, F_GETFD) >= 0; }
Descriptor open_null() { return Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

}  // namespace

TEST_CASE("a descriptor is closed when its owner goes") {
  int number = -1;
  {
    const Descriptor owner = open_null();
    REQUIRE(owner);
    number = owner.get();
    CHECK(is_open(number));
  }
  CHECK_FALSE(is_open(number));
}

TEST_CASE("moving a descriptor moves its ownership") {
  Descriptor first = open_null();
  const int number = first.get();
  Descriptor second(std::move(first));
  CHECK_FALSE(first);  // NOLINT(bugprone-use-after-move): what is left is part of the contract
  CHECK(second.get() == number);

  Descriptor third = open_null();
  const int replaced = third.get();
  third = std::move(second);
  CHECK_FALSE(is_open(replaced));
  CHECK(third.get() == number);
  CHECK(is_open(number));

  Descriptor& alias = third;
  third = std::move(alias);
  CHECK(is_open(number));
}

TEST_CASE("a released descriptor stays open") {
  Descriptor owner = open_null();
  const Descriptor next(owner.release());
  CHECK_FALSE(owner);
  CHECK(is_open(next.get()));
}

TEST_CASE("a file is read whole, and what cannot be read is named") {
  const test::TemporaryDirectory directory;
  directory.write("long", std::string(10'000, 'x'));
  directory.write("empty", "");
  directory.write("huge", std::string((1 << 20) + 1, 'x'));
  CHECK(read_file(directory.path("long")).value() == std::string(10'000, 'x'));
  CHECK(read_file(directory.path("empty")).value().empty());
  CHECK(read_file(directory.path("huge")).error().line().find("larger than 1 MiB") != std::string::npos);
  CHECK(read_file(directory.path("none")).error().line() ==
        "cannot open " + directory.path("none") + ": No such file or directory");
  CHECK(read_file(directory.path()).error().line().find("Is a directory") != std::string::npos);
}

}  // namespace noised
