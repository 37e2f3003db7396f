#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/comm/communicator.h"
#include "src/device/device.h"

/// A CPU device whose streams note what they were told, so that a test can say what a device with streams that run at
/// once would be free to do: which work must wait for which, and which need not.
namespace octet::test {

/// Work in the order in which it was issued; each piece knows all that must be done before it.
class Recording {
 public:
  /// Returns the piece's number.
  int work(const Stream& stream, std::string name) {
    std::vector<bool>& before = before_[&stream];
    before.resize(works_.size() + 1, false);
    works_.push_back({std::move(name), before});
    before[works_.size() - 1] = true;
    return static_cast<int>(works_.size()) - 1;
  }
  void record(const Stream& stream, const Event& event, bool timing) {
    at_[&event] = before_[&stream];
    if (timing) clock.host += clock.per_timing_event;
    times_[&event] = clock.reaches(stream);
  }
  double time_of(const Event& event) const { return times_.at(&event); }
  bool complete(const Event& event) const { return !times_.contains(&event) || times_.at(&event) <= clock.host; }
  void wait(const Stream& stream, const Event& event) {
    clock.streams[&stream] = std::max(clock.reaches(stream), times_[&event]);
    std::vector<bool>& before = before_[&stream];
    const std::vector<bool>& more = at_[&event];
    before.resize(std::max(before.size(), more.size()), false);
    for (std::size_t i = 0; i < more.size(); ++i) before[i] = before[i] || more[i];
  }
  void host_waits(const Stream& stream) {
    ++host_waits_;
    clock.host = clock.reaches(stream);
  }
  void host_waits(const Event& event) {
    ++host_waits_;
    clock.host = std::max(clock.host, times_[&event]);
  }
  void copied(const Stream& stream, std::int64_t bytes) {
    clock.streams[&stream] = clock.reaches(stream) + static_cast<double>(bytes) * clock.per_byte;
  }

  /// Whether piece a is done when piece b begins, whatever the streams do.
  bool precedes(int a, int b) const {
    const std::vector<bool>& before = works_[static_cast<std::size_t>(b)].before;
    return static_cast<std::size_t>(a) < before.size() && before[static_cast<std::size_t>(a)];
  }
  /// Numbers of all pieces of that name, in order.
  std::vector<int> all(const std::string& name) const {
    std::vector<int> found;
    for (std::size_t i = 0; i < works_.size(); ++i) {
      if (works_[i].name == name) found.push_back(static_cast<int>(i));
    }
    return found;
  }
  int count_host_waits() const { return host_waits_; }

  /// Seconds that the host and the streams have been at it, by a clock that only what is scripted moves on: copies
  /// between host and device take time of their stream, whatever the host does then; recording a timing event takes
  /// time of the host. All else takes none.
  struct Clock {
    double per_byte = 0;
    double per_timing_event = 0;
    double host = 0;
    std::map<const Stream*, double> streams;

    /// When the stream comes to what it is given now.
    double reaches(const Stream& stream) { return std::max(streams[&stream], host); }
  };
  Clock clock;

 private:
  struct Work {
    std::string name;
    std::vector<bool> before;
  };
  std::vector<Work> works_;
  std::map<const Stream*, std::vector<bool>> before_;
  std::map<const Event*, std::vector<bool>> at_;
  std::map<const Event*, double> times_;
  int host_waits_ = 0;
};

class RecordingDevice final : public Device {
 public:
  explicit RecordingDevice(Recording& recording) : recording_(recording) {}

  StreamPriority last_priority = StreamPriority::normal;  ///< of the stream that was made last

  DeviceType type() const override { return DeviceType::cpu; }
  std::string name() const override { return "recording"; }
  std::int64_t memory_bytes() const override { return cpu_device().memory_bytes(); }
  std::unique_ptr<Stream> make_stream(StreamPriority priority = StreamPriority::normal) override {
    last_priority = priority;
    return std::make_unique<RecordingStream>(*this, recording_);
  }
  std::unique_ptr<Event> make_event() override { return std::make_unique<RecordingEvent>(recording_, false); }
  std::unique_ptr<Event> make_timing_event() override { return std::make_unique<RecordingEvent>(recording_, true); }
  void* allocate(std::int64_t bytes) override { return cpu_device().allocate(bytes); }
  void deallocate(void* memory, std::int64_t bytes) noexcept override { cpu_device().deallocate(memory, bytes); }
  void* allocate_host(std::int64_t bytes) override { return cpu_device().allocate_host(bytes); }
  void deallocate_host(void* memory) noexcept override { cpu_device().deallocate_host(memory); }
  void zero(void* memory, std::int64_t bytes, Stream&) override { cpu_device().zero(memory, bytes, *plain_); }
  void copy(void* to, const void* from, std::int64_t bytes, Stream&) override {
    cpu_device().copy(to, from, bytes, *plain_);
  }
  void copy_from_host(void* to, const void* from, std::int64_t bytes, Stream& stream) override {
    recording_.copied(stream, bytes);
    cpu_device().copy_from_host(to, from, bytes, *plain_);
  }
  void copy_to_host(void* to, const void* from, std::int64_t bytes, Stream& stream) override {
    recording_.copied(stream, bytes);
    cpu_device().copy_to_host(to, from, bytes, *plain_);
  }

 private:
  struct RecordingEvent final : Event {
    RecordingEvent(Recording& r, bool t) : recording(r), timing(t) {}
    bool complete() const override { return recording.complete(*this); }
    void synchronize() const override { recording.host_waits(*this); }
    double seconds_since(const Event& earlier) const override {
      if (!timing || !dynamic_cast<const RecordingEvent&>(earlier).timing) return Event::seconds_since(earlier);
      return recording.time_of(*this) - recording.time_of(earlier);
    }
    Recording& recording;
    bool timing;
  };
  struct RecordingStream final : Stream {
    RecordingStream(Device& d, Recording& r) : owner(d), recording(r) {}
    Device& device() const override { return owner; }
    void record(Event& event) override {
      recording.record(*this, event, dynamic_cast<const RecordingEvent&>(event).timing);
    }
    void wait(const Event& event) override { recording.wait(*this, event); }
    void synchronize() override { recording.host_waits(*this); }
    Device& owner;
    Recording& recording;
  };

  Recording& recording_;
  std::unique_ptr<Stream> plain_ = cpu_device().make_stream();
};

}  // namespace octet::test
