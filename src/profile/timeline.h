#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "src/device/device.h"
#include "src/profile/span.h"

namespace octet {

/// What a Timeline recorded. Seconds since it began; a step's time is the host's.
struct Recording {
  struct Step {
    std::int64_t number = 0;
    double begin = 0, end = 0;
  };
  std::vector<Span> spans;  ///< in the order in which they were issued
  std::vector<Step> steps;
  std::vector<std::string> streams;  ///< names by number; 0 is the host
  double wall = 0;                   ///< from its begin to the moment at which every stream had done its work
};

/// Records where the time of a few steps goes: what the device does, by pairs of timing events on its streams, and what
/// the host does, by its clock. While it records nothing waits for the device: begin() waits before, end() after. One
/// at a time in a process, since it cannot be passed to kernels and communicators. Kernels and communicators that are
/// made while one lives (kernels_of, make_traced) time themselves in it whenever it records; others never do, so that a
/// run without a Timeline pays nothing. Main thread only.
class Timeline {
 public:
  static constexpr int host_stream = 0;

  /// `model`: the stream on which the model computes; number 1.
  explicit Timeline(Stream& model);
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  /// The one that lives, or null.
  static Timeline* current() { return current_; }
  /// The same, if it records.
  static Timeline* recording() { return recording_; }

  /// Gives a stream the next number, and a name. One without gets both when it is first met.
  void name_stream(Stream& stream, std::string name);

  void begin();
  void begin_step(std::int64_t number);
  void end_step();
  /// Reads all times; nothing is kept.
  Recording end();

  /// A piece of a stream's work is what it is given between the two calls. One that is never closed is dropped. On
  /// streams of another device than the model's, such as that of `control` beside a GPU, it is the time of the calls.
  std::size_t open(Stream& stream, const SpanInfo& info);
  void close(std::size_t span, Stream& stream);
  /// More for a span that is not closed yet.
  void add_bytes(std::size_t span, std::int64_t bytes, double bus_bytes);

  /// A finished piece of the host's time.
  void add_host(std::string_view name, std::chrono::steady_clock::time_point begin);

 private:
  struct Piece {
    Span span;
    std::size_t anchor;
    std::unique_ptr<Event> begin, end;  ///< null where the host's clock was read
    bool closed = false;
  };
  /// A point on the model's stream against which later ones are measured, so that a long recording stays exact.
  struct Anchor {
    std::unique_ptr<Event> event;
    double at = 0;
  };

  int number_of(Stream& stream);
  bool is_on_device(const Stream& stream) const;
  void set_anchor();
  double now() const;
  /// What is open when it is read is not kept.
  void read(Recording& out);

  friend class TimelineUnseen;
  static Timeline* current_;
  static Timeline* recording_;

  Stream& model_;
  std::vector<Stream*> streams_;  ///< by number - 1
  std::vector<std::string> names_;
  std::chrono::steady_clock::time_point origin_;
  std::vector<Anchor> anchors_;
  std::vector<Piece> pieces_;
  std::vector<Recording::Step> steps_;
};

/// Hides the Timeline as long as this object lives: for what is run dry beside a run. Main thread only.
class TimelineUnseen {
 public:
  TimelineUnseen();
  ~TimelineUnseen();
  TimelineUnseen(const TimelineUnseen&) = delete;
  TimelineUnseen& operator=(const TimelineUnseen&) = delete;

 private:
  Timeline* current_;
  Timeline* recording_;
};

/// Calls `work`, which gives work to the stream, within a span when a Timeline records.
template <typename Work>
void timed(Stream& stream, const SpanInfo& info, Work&& work) {
  Timeline* timeline = Timeline::recording();
  if (timeline == nullptr) {
    work();
    return;
  }
  const std::size_t span = timeline->open(stream, info);
  work();
  timeline->close(span, stream);
}

/// A piece of the host's time, as long as it lives, when a Timeline records. `name` must outlive it.
class HostSpan {
 public:
  explicit HostSpan(std::string_view name)
      : name_(name), begin_(Timeline::recording() == nullptr ? Clock::time_point() : Clock::now()) {}
  ~HostSpan() {
    if (begin_ != Clock::time_point() && Timeline::recording() != nullptr) {
      Timeline::recording()->add_host(name_, begin_);
    }
  }
  HostSpan(const HostSpan&) = delete;
  HostSpan& operator=(const HostSpan&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  std::string_view name_;
  Clock::time_point begin_;
};

}  // namespace octet
