// SPDX-License-Identifier: Apache-2.0
// One request to the daemon, and its answer as it came (--json) or as text.
#pragma once

#include <cstdio>
#include <string>
#include <utility>

#include "base/result.h"
#include "noisectl/client/http_client.h"
#include "noisectl/client/output.h"

namespace noised::client {

/// Prints a text, and ends its last line if it does not.
inline Status print_text(std::string text) {
  if (text.empty() || text.back() != '\n') text += '\n';
  Output output(stdout);
  output.write(text);
  return output.finish();
}

/// Gets `path`, prints the answer as it came or as `parse` and `print_view` make it; then `check` decides how it ends.
template <typename Parse, typename Print, typename Check>
Status show_answer(const std::string& socket, const char* path, bool json, Parse parse, Print print_view, Check check) {
  Result<HttpClient> client = HttpClient::create(socket);
  if (!client) return client.error();
  Result<std::string> body = client.value().get(path, kAnswerTime);
  if (!body) return body.error();
  const auto view = parse(body.value());
  if (!view && !json) return view.error();
  Status printed = json ? print_text(std::move(body.value())) : print_view(view.value());
  return printed && view ? check(view.value()) : printed;
}

}  // namespace noised::client
