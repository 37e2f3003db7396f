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

}  // namespace

DocumentLengths document_lengths(const TokenFile& file) {
  DocumentLengths lengths;
  std::vector<std::int64_t> all;
  all.reserve(static_cast<std::size_t>(file.documents()));
  for (const TokenPair& pair : file.pairs()) {
    for (std::int64_t i = 0; i < pair.documents(); ++i) all.push_back(pair.document_tokens(i));
  }
  if (all.empty()) return lengths;
  for (const std::int64_t tokens : all) {
    ++lengths.documents[static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(tokens)))];
  }
  const auto [least, most] = std::ranges::minmax(all);
  lengths.least = least;
  lengths.most = most;
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::ranges::nth_element(all, middle);
  lengths.median = *middle;
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
