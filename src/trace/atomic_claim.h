// SPDX-License-Identifier: Apache-2.0
// The one instruction of our programs that kernels before 5.12 lack: an atomic addition that tells what was there.
#pragma once

struct bpf_object;

namespace noised {

/// Asks the kernel, with a program of five instructions. False also if it refuses programs altogether.
bool kernel_has_atomic_claim();
/// Before the object is loaded: replaces it, in code that never runs there, by one that every verifier lets pass.
void take_out_atomic_claims(bpf_object* object);

}  // namespace noised
