#include "jobs/octet/job/launch_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/log.h"
#include "src/base/replace_file.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

std::string folder_of(const std::string& run_dir) {
  return run_dir + "/job/launches";
}

std::string file_of_all(const std::string& run_dir) {
  return run_dir + "/job/launches.jsonl";
}

std::string file_of(const std::string& run_dir, std::string job) {
  std::ranges::replace(job, '/', '_');
  return fmt::format("{}/{}.jsonl", folder_of(run_dir), job.empty() ? "none" : job);
}

JobLaunches read_file(const std::string& path, bool tell) {
  JobLaunches out;
  const auto text = read_text_file(path);
  if (!text) {
    if (errno == ENOENT) return out;
    if (tell) log::warning("{}: cannot be read ({}); the run goes on without it", path, std::strerror(errno));
    return {{}, false};
  }
  std::istringstream lines(*text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    try {
      out.records.push_back(parse_launch(line, fmt::format("{}:{}", path, number)));
    } catch (const Error& e) {
      if (tell) log::warning("{}; the run goes on without this launch", e.what());
      out.is_whole = false;
    }
  }
  return out;
}

std::string lines_of(const std::vector<LaunchRecord>& records) {
  std::string text;
  for (const LaunchRecord& record : records) text += to_line(record);
  return text;
}

std::map<std::string, JobLaunches> read(const std::string& run_dir, bool tell) {
  std::map<std::string, JobLaunches> own, out;
  std::error_code error;
  for (fs::directory_iterator i(folder_of(run_dir), error); !error && i != fs::directory_iterator();
       i.increment(error)) {
    const std::string job = i->path().stem();
    if (i->path().extension() == ".jsonl") own[job == "none" ? "" : job] = read_file(i->path(), tell);
  }
  const JobLaunches all = read_file(file_of_all(run_dir), tell);
  for (const LaunchRecord& record : all.records) {
    const std::string& job = record.launch.job;
    // A listing may lack what is being replaced meanwhile; its name leads to the old file or the new one.
    if (!own.contains(job) && !out.contains(job)) {
      JobLaunches named = read_file(file_of(run_dir, job), tell);
      if (!named.records.empty() || !named.is_whole) own[job] = std::move(named);
    }
    if (!own.contains(job)) out[job].records.push_back(record);
  }
  out.merge(own);
  return out;
}

std::string all_lines(const std::string& run_dir) {
  return lines_of(in_order(read(run_dir, false)));
}

/// Keeps a copy of what cannot be read, of which a new text would leave nothing.
void set_aside(const std::string& path) {
  const auto text = read_text_file(path);
  if (text && !replace_file(path + ".damaged", *text)) {
    log::warning("{}: is damaged, and no copy of it can be kept: {}", path, std::strerror(errno));
  }
}

}  // namespace

std::map<std::string, JobLaunches> read_launches(const std::string& run_dir) {
  return read(run_dir, true);
}

std::vector<LaunchRecord> in_order(const std::map<std::string, JobLaunches>& launches) {
  std::vector<LaunchRecord> out;
  std::map<std::string, std::size_t> taken;
  for (;;) {
    const LaunchRecord* next = nullptr;
    std::string whose;
    for (const auto& [job, of_job] : launches) {
      const std::size_t at = taken[job];
      if (at == of_job.records.size() || (next != nullptr && next->began <= of_job.records[at].began)) continue;
      next = &of_job.records[at];
      whose = job;
    }
    if (next == nullptr) return out;
    ++taken[whose];
    out.push_back(*next);
  }
}

void write_launches(const std::string& run_dir, const std::string& job, const JobLaunches& launches) {
  const std::string path = file_of(run_dir, job);
  std::error_code error;
  fs::create_directories(folder_of(run_dir), error);
  if (!launches.is_whole) set_aside(path);
  if (!replace_file(path, lines_of(launches.records))) {
    throw internal_error("job", "{}: cannot be written: {}", path, std::strerror(errno));
  }
}

void write_all_launches(const std::string& run_dir) {
  const std::string path = file_of_all(run_dir);
  // A writer that comes between the look and the rename finds, by his own second look, what he has to add.
  std::string text = all_lines(run_dir);
  if (!read_file(path, false).is_whole) set_aside(path);
  for (int n = 0; n < 20; ++n) {
    if (!replace_file(path, text)) return log::warning("{}: cannot be written: {}", path, why_not_written(errno));
    std::string now = all_lines(run_dir);
    if (now == text) return;
    text = std::move(now);
  }
}

}  // namespace octet
