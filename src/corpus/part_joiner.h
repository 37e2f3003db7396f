#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "src/data/token_join.h"

namespace octet {

/// Joins the parts of one or several outputs while further parts are made: a thread of its own takes each part as soon
/// as it is finished and those before it are taken.
class PartJoiner {
 public:
  struct Output {
    std::string prefix;
    std::vector<std::string> parts;  ///< their prefixes, in order; as many for each output
  };

  /// Says which parts are finished already. Outputs get their names in this order.
  PartJoiner(std::vector<Output> outputs, std::vector<bool> finished);
  /// Without finish() it ends behind the part that is being taken; what is taken stays.
  ~PartJoiner();
  PartJoiner(const PartJoiner&) = delete;
  PartJoiner& operator=(const PartJoiner&) = delete;

  /// Any thread. Throws what joining has met so far.
  void part_is_finished(std::size_t part);
  /// Waits until all parts are taken, each of which must be finished, and gives the outputs their names.
  void finish();

 private:
  void take_parts();
  void end_thread();

  std::vector<Output> outputs_;
  std::vector<std::unique_ptr<TokenJoin>> joins_{};  ///< none where nothing is left to be done
  std::mutex mutex_{};
  std::condition_variable changed_{};
  std::vector<bool> finished_;
  bool stopped_ = false;
  std::exception_ptr error_{};
  std::thread thread_{};
};

}  // namespace octet
