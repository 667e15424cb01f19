// SPDX-License-Identifier: Apache-2.0
// The pages without their data: what stands for it are comments such as <!--data-->. Made at build time (embed.cmake).
#pragma once

namespace noised::page {

extern const char* const kTemplate;       ///< page.html
extern const char* const kTasksTemplate;  ///< tasks.html

}  // namespace noised::page
