#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace octet::checkpoint::test {

/// A call of a trace that crash/faults.cpp wrote.
struct TracedCall {
  std::string name;
  std::vector<std::string> words;  ///< its arguments
  std::string data;
};

inline std::vector<TracedCall> read_trace(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<TracedCall> calls;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    TracedCall call;
    words >> call.name;
    call.words.assign(std::istream_iterator<std::string>(words), {});
    call.data.resize(std::stoull(call.words.back()));
    call.words.pop_back();
    file.read(call.data.data(), static_cast<std::streamsize>(call.data.size()));
    if (!file) throw std::runtime_error("the trace ends within a call");
    calls.push_back(std::move(call));
  }
  return calls;
}

/// What reached the disk of that which no fsync asked for. Of a folder's changes a journal keeps the first so many; of
/// a file's, any.
enum class Unsynced { lost, kept, names_only, random };

/// A file system in memory that knows which effects an fsync made durable. Paths are relative to its root folder,
/// which is durable and empty at first.
class DiskModel {
 public:
  explicit DiskModel(std::string root) : root_(std::move(root)), nodes_(1) {}

  void apply(const TracedCall& call) {
    const auto& w = call.words;
    if (call.name == "open") {
      open(std::stoi(w[0]), w[1] == "1", w[2] == "1", w[3]);
    } else if (call.name == "close") {
      files_.erase(std::stoi(w[0]));
    } else if (call.name == "write") {
      OpenFile& file = files_.at(std::stoi(w[0]));
      const std::int64_t offset = std::stoll(w[1]) < 0 ? file.position : std::stoll(w[1]);
      if (std::stoll(w[1]) < 0) file.position += static_cast<std::int64_t>(call.data.size());
      nodes_[file.node].pending.push_back({offset, call.data, false});
    } else if (call.name == "truncate") {
      nodes_[files_.at(std::stoi(w[0])).node].pending.push_back({std::stoll(w[1]), "", true});
    } else if (call.name == "sync") {
      sync(nodes_[files_.at(std::stoi(w[0])).node]);
    } else if (call.name == "mkdir") {
      const std::size_t made = add_node();  // before the reference to entries
      nodes_[made].is_folder = true;
      change(w[0])[leaf(w[0])] = made;
    } else if (call.name == "remove") {
      change(w[0]).erase(leaf(w[0]));
    } else if (call.name == "rename") {  // within one folder
      Entries& entries = change(w[0]);
      entries[leaf(w[1])] = entries.at(leaf(w[0]));
      entries.erase(leaf(w[0]));
    } else if (call.name == "exchange") {
      Entries& entries = change(w[0]);
      std::swap(entries.at(leaf(w[0])), entries.at(leaf(w[1])));
    } else {
      throw std::runtime_error("a traced call " + call.name);
    }
  }

  /// What a machine that lost its power now could find, in the folder `to`.
  void write_out(const std::string& to, Unsynced unsynced, std::mt19937& random) const {
    write_folder(nodes_[0], to, unsynced, random);
  }

 private:
  using Entries = std::map<std::string, std::size_t>;
  struct Change {
    std::int64_t offset;  ///< or the new size
    std::string data;
    bool truncates;
  };
  /// A file or a folder.
  struct Node {
    bool is_folder = false;
    std::string durable;                      ///< content
    std::vector<Change> pending;              ///< since the last sync
    std::vector<Entries> history{Entries()};  ///< the durable entries, then those after each change since
  };
  struct OpenFile {
    std::size_t node;
    std::int64_t position;
  };

  static std::string leaf(const std::string& path) { return std::filesystem::path(path).filename().string(); }
  std::size_t add_node() {
    nodes_.emplace_back();
    return nodes_.size() - 1;
  }
  std::size_t find(const std::string& path) const {
    std::size_t node = 0;
    for (const auto& part : std::filesystem::path(path).lexically_relative(root_)) {
      if (part != ".") node = nodes_[node].history.back().at(part.string());
    }
    return node;
  }
  /// The entries of the folder that `path` is in, to be changed.
  Entries& change(const std::string& path) {
    auto& history = nodes_[find(std::filesystem::path(path).parent_path().string())].history;
    history.push_back(history.back());
    return history.back();
  }
  void open(int file, bool creates, bool truncates, const std::string& path) {
    if (creates) {
      const std::size_t folder = find(std::filesystem::path(path).parent_path().string());
      if (!nodes_[folder].history.back().contains(leaf(path))) {
        const std::size_t made = add_node();
        change(path)[leaf(path)] = made;
      }
    }
    files_[file] = {find(path), 0};
    if (truncates) nodes_[files_[file].node].pending.push_back({0, "", true});
  }
  static void apply_change(std::string& content, const Change& change) {
    const auto offset = static_cast<std::size_t>(change.offset);
    if (change.truncates) return content.resize(offset, '\0');
    content.resize(std::max(content.size(), offset + change.data.size()), '\0');
    content.replace(offset, change.data.size(), change.data);
  }
  static void sync(Node& node) {
    for (const Change& change : node.pending) apply_change(node.durable, change);
    node.pending.clear();
    node.history.erase(node.history.begin(), node.history.end() - 1);
  }

  void write_folder(const Node& node, const std::string& to, Unsynced unsynced, std::mt19937& random) const {
    std::filesystem::create_directories(to);
    const std::size_t last = node.history.size() - 1;
    const std::size_t chosen = unsynced == Unsynced::lost     ? 0
                               : unsynced == Unsynced::random ? random() % (last + 1)
                                                              : last;
    for (const auto& [name, child] : node.history[chosen]) {
      if (nodes_[child].is_folder) {
        write_folder(nodes_[child], to + "/" + name, unsynced, random);
      } else {
        write_content(nodes_[child], to + "/" + name, unsynced, random);
      }
    }
  }
  static void write_content(const Node& node, const std::string& to, Unsynced unsynced, std::mt19937& random) {
    std::string content = node.durable;
    for (const Change& change : node.pending) {
      const bool kept = unsynced == Unsynced::kept || (unsynced == Unsynced::random && random() % 2 == 0);
      if (kept) apply_change(content, change);
    }
    std::ofstream file(to, std::ios::binary);
    file << content << std::flush;
    if (!file) throw std::runtime_error("cannot write " + to);
  }

  std::string root_;
  std::vector<Node> nodes_;
  std::map<int, OpenFile> files_;
};

}  // namespace octet::checkpoint::test
