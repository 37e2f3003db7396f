#pragma once

#include <string>

#include "jobs/evaluate/text_report.h"
#include "src/comm/communicator.h"

namespace octet::evaluate {

/// results.json of the folder of results. What it has of the same models in the same settings stays beside what comes;
/// a folder of another evaluation is refused, or replaced where that is asked for, so that no result is lost unasked
/// and no two in it are of different models. One program at a time writes there.
class ResultsFile {
 public:
  /// `evaluation`: what this one's results are of, by name. It is the member "evaluation" of the file, and a member
  /// that both have, at whatever depth, must be the same in both. Usage error where it is not, and where results.json
  /// cannot be read or does not say; with `overwrite` the file counts as none. `folder` empty: nothing is written.
  /// Collective.
  ResultsFile(const std::string& folder, bool overwrite, Json evaluation, Communicator& control);

  /// Puts the members of `json` into the file, beside those that it has. The first rank writes, with the errors of
  /// write_result(); `texts` are the files beside it, for the log.
  void write(const Json& json, const std::string& texts) const;

 private:
  std::string path() const { return folder_ + "/results.json"; }
  void read();
  void check() const;

  std::string folder_;
  Json evaluation_;
  Json earlier_ = Json::object();
};

}  // namespace octet::evaluate
