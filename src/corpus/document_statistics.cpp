#include "src/corpus/document_statistics.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <memory>

#include "src/base/error.h"

namespace octet {
namespace {

constexpr std::int64_t any_id = std::int64_t{1} << 31;
constexpr std::int64_t read_at_once = 1 << 18;

struct FreeState {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

/// How many documents have so many tokens. Almost all have few, and the long ones are no more than the tokens allow.
class CountByLength {
 public:
  void add(std::int64_t tokens) {
    if (tokens < static_cast<std::int64_t>(short_.size())) {
      ++short_[static_cast<std::size_t>(tokens)];
    } else {
      ++long_[tokens];
    }
  }

  /// From the shortest on, with each length that occurs.
  template <typename See>
  void each(const See& see) const {
    for (std::size_t tokens = 0; tokens < short_.size(); ++tokens) {
      if (short_[tokens] > 0) see(static_cast<std::int64_t>(tokens), short_[tokens]);
    }
    for (const auto& [tokens, documents] : long_) see(tokens, documents);
  }

 private:
  std::vector<std::int64_t> short_ = std::vector<std::int64_t>(std::size_t{1} << 20);
  std::map<std::int64_t, std::int64_t> long_{};
};

}  // namespace

DocumentLengths document_lengths(const TokenFile& file) {
  DocumentLengths lengths;
  if (file.documents() == 0) return lengths;
  CountByLength count;
  for (const TokenPair& pair : file.pairs()) {
    for (std::int64_t i = 0; i < pair.documents(); ++i) count.add(pair.document_tokens(i));
  }
  const std::int64_t middle = file.documents() / 2;
  std::int64_t seen = 0;
  count.each([&](std::int64_t tokens, std::int64_t documents) {
    lengths.documents[static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(tokens)))] += documents;
    if (seen == 0) lengths.least = tokens;
    if (seen <= middle && middle < seen + documents) lengths.median = tokens;
    lengths.most = tokens;
    seen += documents;
  });
  return lengths;
}

DocumentScan scan_documents(const TokenFile& file, const std::map<std::string, std::int64_t>& special,
                            const std::function<void(std::int64_t tokens)>& progress) {
  std::int64_t ids_to_count = 0;
  for (const auto& [name, id] : special) ids_to_count = std::max(ids_to_count, id + 1);
  std::vector<bool> is_special(static_cast<std::size_t>(ids_to_count));
  std::vector<std::int64_t> count_of(is_special.size());
  for (const auto& [name, id] : special) is_special[static_cast<std::size_t>(id)] = true;
  const std::unique_ptr<XXH3_state_t, FreeState> state(XXH3_createState());
  std::vector<std::uint64_t> hashes;
  std::vector<std::int32_t> ids;
  for (std::int64_t document = 0; document < file.documents(); ++document) {
    const std::int64_t begin = file.document_begin(document), tokens = file.document_tokens(document);
    XXH3_64bits_reset(state.get());
    for (std::int64_t done = 0; done < tokens; done += read_at_once) {
      ids.resize(static_cast<std::size_t>(std::min(read_at_once, tokens - done)));
      file.read(begin + done, ids, any_id);
      XXH3_64bits_update(state.get(), ids.data(), ids.size() * sizeof ids[0]);
      for (const std::int32_t id : ids) {
        if (const std::size_t place = static_cast<std::size_t>(id); place < count_of.size() && is_special[place]) {
          ++count_of[place];
        }
      }
      progress(static_cast<std::int64_t>(ids.size()));
    }
    hashes.push_back(XXH3_64bits_digest(state.get()));
  }
  std::ranges::sort(hashes);
  DocumentScan scan{.distinct = std::unique(hashes.begin(), hashes.end()) - hashes.begin()};
  for (const auto& [name, id] : special) {
    if (const std::int64_t count = count_of[static_cast<std::size_t>(id)]; count > 0) scan.special[name] = count;
  }
  return scan;
}

std::vector<std::int32_t> document_ids(const TokenFile& file, std::int64_t document, std::int64_t most) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(std::min(file.document_tokens(document), most)));
  file.read(file.document_begin(document), ids, any_id);
  return ids;
}

}  // namespace octet
