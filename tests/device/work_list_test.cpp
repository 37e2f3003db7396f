// Lists of a stream's work: what makes them equal, and what ends a listing so that nothing overtakes what was listed.
#include "src/device/work_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/device/buffer.h"

namespace octet {
namespace {

struct Note {
  char letter = ' ';  // and a hole behind it
  double value = 0;

  bool operator==(const Note&) const = default;
};

std::string done;  ///< letters of the notes, in the order in which they were given to a stream

void give(Stream& stream, const Note& note) {
  if (note.letter == '!') throw internal_error("tests", "given");
  done += note.letter;
  stream.skip(Work{.name = "note"});
}
void give_otherwise(Stream& stream, const Note& note) {
  give(stream, note);
}
Work describe(const Note& note) {
  return {.name = "note", .bytes = static_cast<std::int64_t>(note.value)};
}

void note(Stream& stream, char letter, double value = 0) {
  const Note n{.letter = letter, .value = value};
  if (WorkList* list = Listing::of(stream)) return list->add<&give, &describe>(n);
  give(stream, n);
}

class WorkLists : public testing::Test {
 protected:
  void SetUp() override { done.clear(); }
  WorkList listed(const std::function<void()>& work) {
    WorkList list;
    Listing listing(*stream_, list);
    work();
    EXPECT_EQ(listing.end(), nullptr);
    return list;
  }

  std::unique_ptr<Device> device_ = make_dry_device(DeviceType::cuda);
  std::unique_ptr<Stream> stream_ = device_->make_stream();
};

TEST_F(WorkLists, AreDoneLaterInTheirOrderAsOftenAsOneLikes) {
  const WorkList list = listed([&] {
    note(*stream_, 'a', 3);
    note(*stream_, 'b', 4);
  });
  EXPECT_EQ(done, "");
  EXPECT_EQ(list.size(), 2);
  std::vector<std::int64_t> bytes;
  list.describe([&](const Work& work) { bytes.push_back(work.bytes); });
  EXPECT_EQ(bytes, (std::vector<std::int64_t>{3, 4}));
  note(*stream_, 'c');
  list.give(*stream_);
  list.give(*stream_);
  EXPECT_EQ(done, "cabab");
  const auto graph = device_->make_graph(*stream_, list);
  EXPECT_EQ(done, "cabab") << "a graph's work is not done when it is made";
  graph->launch(*stream_);
  EXPECT_EQ(done, "cababab");
}

TEST_F(WorkLists, AreEqualWhenTheyDoTheSame) {
  const auto list_of = [&](const std::string& letters, double value) {
    return listed([&] {
      for (const char letter : letters) note(*stream_, letter, value);
    });
  };
  const WorkList ab = list_of("ab", 1);
  EXPECT_EQ(ab, list_of("ab", 1));
  EXPECT_NE(ab, list_of("ba", 1)) << "in another order";
  EXPECT_NE(ab, list_of("a", 1));
  EXPECT_NE(ab, list_of("abc", 1));
  EXPECT_NE(ab, list_of("ab", 2)) << "with other arguments";
  WorkList otherwise;
  for (const char letter : {'a', 'b'}) otherwise.add<&give_otherwise, &describe>(Note{.letter = letter, .value = 1});
  EXPECT_NE(ab, otherwise) << "by another function";
}

TEST_F(WorkLists, AreOfOneStream) {
  const auto other = device_->make_stream();
  WorkList list;
  {
    Listing listing(*stream_, list);
    EXPECT_EQ(Listing::of(*stream_), &list);
    EXPECT_EQ(Listing::of(*other), nullptr);
    EXPECT_THROW(Listing(*other, list), Error);
  }
  EXPECT_EQ(Listing::of(*stream_), nullptr);
}

TEST_F(WorkLists, HoldWhatIsZeroed) {
  Device& cpu = cpu_device();
  const auto stream = cpu.make_stream(), other = cpu.make_stream();
  const Buffer memory(cpu, 64, Purpose::data);
  auto* bytes = memory.as<char>();
  std::fill_n(bytes, 64, 'x');
  const auto zeroing = [&](std::int64_t count) {
    WorkList list;
    Listing listing(*stream, list);
    cpu.zero(bytes, 0, *stream);
    cpu.zero(bytes, count, *stream);
    EXPECT_EQ(listing.end(), nullptr);
    return list;
  };
  const WorkList list = zeroing(32);
  EXPECT_EQ(list.size(), 1) << "nothing to zero is no work";
  EXPECT_EQ(bytes[0], 'x') << "done before its turn";
  EXPECT_EQ(list, zeroing(32));
  EXPECT_NE(list, zeroing(33));
  list.describe([](const Work& work) { EXPECT_EQ(work.bytes, 32); });
  list.give(*stream);
  EXPECT_EQ(std::count(bytes, bytes + 64, 0), 32);

  WorkList untouched;
  Listing listing(*stream, untouched);
  note(*stream, 'a');
  cpu.zero(bytes, 64, *other);
  EXPECT_EQ(done, "a") << "of another stream";
  EXPECT_EQ(std::count(bytes, bytes + 64, 0), 64);
}

/// All that has to come behind the work before it, and cannot be listed.
TEST_F(WorkLists, AreFlushedBeforeWhatCannotBeListed) {
  Device& cpu = cpu_device();
  const auto cpu_stream = cpu.make_stream();
  for (const auto& [device, stream] : {std::pair{device_.get(), stream_.get()}, std::pair{&cpu, cpu_stream.get()}}) {
    SCOPED_TRACE(name_of(device->type()));
    const auto event = device->make_event();
    const Buffer memory(*device, 64, Purpose::data);
    auto freed = std::make_unique<Buffer>(*device, 64, Purpose::data);
    char host[64] = {};
    Device& d = *device;
    Stream& s = *stream;
    const std::vector<std::pair<const char*, std::function<void()>>> cases = {
        {"an event is recorded", [&] { s.record(*event); }},
        {"a stream waits for an event", [&] { s.wait(*event); }},
        {"the host waits for a stream", [&] { s.synchronize(); }},
        {"the host waits for the device", [&] { d.synchronize(); }},
        {"memory of the device is taken", [&] { const Buffer taken(d, 64, Purpose::data); }},
        {"memory of the device is freed", [&] { freed.reset(); }},
        {"memory is copied", [&] { d.copy(memory.data(), memory.as<char>() + 32, 32, s); }},
        {"memory is copied", [&] { d.copy_from_host(memory.data(), host, 64, s); }},
        {"memory is copied", [&] { d.copy_to_host(host, memory.data(), 64, s); }},
    };
    for (const auto& [why, act] : cases) {
      done.clear();
      WorkList list;
      Listing listing(s, list);
      note(s, 'a');
      EXPECT_EQ(done, "");
      act();
      EXPECT_EQ(done, "a");
      note(s, 'b');
      EXPECT_EQ(done, "ab") << "what follows is done at once";
      EXPECT_STREQ(listing.end(), why);
      EXPECT_EQ(list.size(), 0);
    }
  }
}

TEST_F(WorkLists, OfADryDeviceAreSettledByWorkThatIsNoTables) {
  WorkList list;
  Listing listing(*stream_, list);
  note(*stream_, 'a');
  stream_->skip({.name = "all_gather", .group = "dp_shard", .ranks = 2});
  EXPECT_EQ(done, "a");
  EXPECT_STREQ(listing.end(), "a stream is given work that is no kernel of a table");
}

TEST_F(WorkLists, TellAtTheEndWhatSettlingThrew) {
  WorkList list;
  Listing listing(*stream_, list);
  note(*stream_, 'a');
  note(*stream_, '!');
  { const Buffer freed(*device_, 64, Purpose::data); }
  EXPECT_EQ(done, "a");
  EXPECT_THROW(listing.end(), Error);
}

TEST_F(WorkLists, AreForgottenWithTheirListing) {
  WorkList list;
  try {
    Listing listing(*stream_, list);
    note(*stream_, 'a');
    throw internal_error("tests", "in the middle");
  } catch (const Error&) {
  }
  note(*stream_, 'b');
  EXPECT_EQ(done, "b");
}

}  // namespace
}  // namespace octet
