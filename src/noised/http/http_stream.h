// SPDX-License-Identifier: Apache-2.0
// Responses without end: how a stream waits for data without a thread, a timer or a busy loop.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

struct MHD_Connection;
struct MHD_Response;

namespace noised::daemon {

// The open connections of one listener, so that slow clients cannot keep others out for long.

/// libmicrohttpd's timeout begins again with each byte: a client that sends one now and then holds its connection for
/// ever. Here a request, with its answer, has a fixed time; and where connections run short, the one that has held its
/// longest makes room, of those whose request is not here if there are any. Closing is by shutdown(2), which
/// libmicrohttpd then sees. HTTP thread only.
class HttpConnections {
 public:
  /// The most that one listener serves at once.
  static constexpr std::size_t kLimit = 64;
  /// From the first byte that could have come to the last of the answer; a monitoring server keeps its connection for
  /// the time between two scrapes, so a later request on the same has longer.
  static constexpr std::uint64_t kFirstRequestNs = 10'000'000'000;
  static constexpr std::uint64_t kNextRequestNs = 130'000'000'000;
  /// A stream whose client takes nothing of what there is for so long ends: it may hold what others wait for. A pager
  /// may pause for less.
  static constexpr std::uint64_t kUnreadNs = 60'000'000'000;
  /// For libmicrohttpd to see by itself that a client will say no more.
  static constexpr std::uint64_t kFinishedNs = 1'000'000'000;
  /// What each has before it makes room: a client may be kept off its CPU between connecting and asking, while others
  /// come in a burst. They wait in the backlog meanwhile.
  static constexpr std::uint64_t kLeastNs = 50'000'000;

  struct Connection {
    int socket = -1;
    std::uint64_t since_ns = 0;  ///< when it was opened, its last answer was complete, or its stream was read
    bool answering = false;      ///< a request is here, and its answer not complete
    bool answered = false;       ///< at least once
    bool streaming = false;      ///< takes as long as it likes, as long as it takes anything
    bool idle = false;           ///< likewise, and there is nothing for it now
    bool closing = false;        ///< shut down, not gone yet
  };

  /// A connection was opened; if there is hardly room for another, one makes room. Pointers stay valid until closed().
  Connection* opened(int socket, std::uint64_t now_ns);
  void closed(Connection* connection);
  /// A request is here: whatever its client does, it is answered.
  static void asked(Connection& connection) { connection.answering = true; }
  /// An answer is complete: its connection waits for the next request.
  static void answered(Connection& connection, std::uint64_t now_ns);
  /// A stream was read: its client has taken what came before. `idle`: there is nothing more now.
  static void streamed(Connection& connection, bool idle, std::uint64_t now_ns);
  /// Closes what took too long, what can ask no more, and as many as there is hardly room for.
  void expire(std::uint64_t now_ns);
  /// When one will make room for others; UINT64_MAX: there is room.
  [[nodiscard]] std::uint64_t makes_room_ns() const;

  [[nodiscard]] std::size_t size() const { return connections_.size(); }

 private:
  static void close(Connection& connection);
  [[nodiscard]] std::size_t crowd() const;
  [[nodiscard]] Connection* next_to_go(std::uint64_t now_ns);
  void make_room(std::uint64_t now_ns);

  std::list<Connection> connections_;
};

/// Where the bytes of a stream come from. Read on the HTTP thread only.
class StreamSource {
 public:
  /// What read() returns when there will never be more.
  static constexpr std::size_t kEnd = SIZE_MAX;

  StreamSource() = default;
  StreamSource(const StreamSource&) = delete;
  StreamSource& operator=(const StreamSource&) = delete;
  virtual ~StreamSource() = default;

  /// Copies up to `capacity` bytes; 0 for nothing now (asked again after the next wake), kEnd for the end. Must not
  /// block: every other client waits meanwhile.
  virtual std::size_t read(char* buffer, std::size_t capacity) = 0;
};

/// All open streams of a server. A stream with nothing to send is suspended: out of the server's epoll set, at no cost
/// until it is resumed. HTTP thread only, but for any().
class HttpStreams {
 public:
  /// Streams served at once; below the server's connection limit, so that there is always room for plain requests.
  static constexpr unsigned kLimit = 32;
  /// Of one user but root, so that no user can keep all of them; those over TCP are one user.
  static constexpr unsigned kUserLimit = 6;
  static constexpr uid_t kNobodyKnown = static_cast<uid_t>(-1);

  HttpStreams();

  /// Why this user can have no stream more; empty: there is room.
  [[nodiscard]] std::string refusal(uid_t user) const;
  /// A response that pulls from the source, of which the connection's entry is told; or null when memory is short.
  MHD_Response* open(MHD_Connection* connection, HttpConnections::Connection& entry, uid_t user,
                     std::unique_ptr<StreamSource> source);

  /// True if there are streams; one relaxed load, any thread.
  [[nodiscard]] bool any() const { return open_.load(std::memory_order_relaxed) != 0; }
  /// Has suspended streams read their sources again.
  void resume();
  /// From now on, a stream that is resumed with nothing to send ends.
  void stop() { stopping_ = true; }

 private:
  class Stream;

  std::atomic<unsigned> open_{0};
  std::map<uid_t, unsigned> open_of_;       // by user
  std::vector<MHD_Connection*> suspended_;  // each exactly once; MHD keeps a suspended connection alive
  bool stopping_ = false;
};

}  // namespace noised::daemon
