#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "jobs/evaluate/model_options.h"
#include "src/corpus/document_splitter.h"
#include "src/evaluate/bootstrap.h"
#include "src/evaluate/documents.h"
#include "src/run_config/run_config.h"

namespace octet::evaluate {

/// What octet-evaluate was asked to do.
struct Options {
  bool help = false;
  std::string model;
  ModelOptions models;
  std::string compare;  ///< another model; empty: none
  std::optional<Precision> compare_precision{};
  std::string data;       ///< a token file
  TextDocuments text{};   ///< with an input, or none
  std::string tasks;      ///< names between commas; empty: none
  std::string task_data;  ///< folder of their datasets
  std::int64_t shots = 0;
  std::int64_t limit = 0;   ///< questions of a task; 0: all
  std::int64_t stride = 0;  ///< 0: the window
  std::int64_t documents = 0;
  BootstrapOptions bootstrap{};
  bool generates = false;
  GenerateOptions generate{};
  std::string output;      ///< folder; empty: none
  bool overwrite = false;  ///< results of another evaluation there
  CpuConfig cpu{};
  double timeout = 600;  ///< seconds of one operation
};

/// `MODEL [OPTIONS]`. Throws usage errors.
Options parse_options(int argc, const char* const* argv);

/// Where the other model's documents and samples go; empty: nowhere.
std::string compared_folder(const Options& options);

/// Text of --help.
std::string usage_text();

}  // namespace octet::evaluate
