#include "checkpoints/export.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "checkpoints/durable.h"
#include "checkpoints/hugging_face.h"
#include "checkpoints/safetensors.h"

namespace octet::checkpoint {
namespace {

/// A tensor on its way: where it comes from and what it becomes.
struct Exported {
  std::int32_t tensor = 0;  ///< index into Manifest::tensors
  SafetensorsEntry entry;
};

/// safetensors' and PyTorch's names of a dtype.
std::string stored_name(DType dtype) {
  return dtype == DType::bf16 ? "BF16" : "F32";
}
std::string torch_name(DType dtype) {
  return dtype == DType::bf16 ? "bfloat16" : "float32";
}

std::vector<std::int64_t> extents(const Shape& shape) {
  std::vector<std::int64_t> out;
  out.reserve(static_cast<std::size_t>(shape.rank()));
  for (int i = 0; i < shape.rank(); ++i) out.push_back(shape[i]);
  return out;
}

/// The model's tensors in files of at most max_shard_bytes.
std::vector<std::vector<Exported>> plan_files(const Manifest& manifest, const ExportOptions& options) {
  std::vector<std::vector<Exported>> files(1);
  std::int64_t in_file = 0;
  for (const StoredTensor& t : model_tensors(options.model)) {
    const auto found = std::ranges::find(manifest.tensors, "master/" + t.name, &StoredTensor::name);
    const std::int64_t bytes = t.shape.elements() * size_of(options.dtype);
    if (!files.back().empty() && in_file + bytes > options.max_shard_bytes) {
      files.emplace_back();
      in_file = 0;
    }
    in_file += bytes;
    files.back().push_back(
        {static_cast<std::int32_t>(found - manifest.tensors.begin()),
         {.name = hugging_face_name(t.name), .dtype = stored_name(options.dtype), .shape = extents(t.shape)}});
  }
  return files;
}

std::string data_file_name(std::size_t file, std::size_t files) {
  return fmt::format("model-{:05}-of-{:05}.safetensors", file + 1, files);
}

SafetensorsHeader header_of(const std::vector<Exported>& file, const ExportOptions& options) {
  std::vector<SafetensorsEntry> entries;
  entries.reserve(file.size());
  for (const Exported& t : file) entries.push_back(t.entry);
  // Readers of Hugging Face refuse a file that does not say "format".
  return lay_out_safetensors(std::move(entries), {{"format", "pt"}, {"producer", options.program}});
}

std::string index_json(const std::vector<std::vector<Exported>>& files, std::int64_t bytes) {
  nlohmann::ordered_json json;
  json["metadata"]["total_size"] = bytes;
  for (std::size_t f = 0; f < files.size(); ++f) {
    for (const Exported& t : files[f]) json["weight_map"][t.entry.name] = data_file_name(f, files.size());
  }
  return json.dump(2) + "\n";
}

/// Master weights in another dtype, in memory that is used again.
class Rounding {
 public:
  explicit Rounding(DType to) : to_(to) {}
  const void* operator()(const void* master, std::int64_t elements) {
    if (to_ == DType::f32) return master;
    const auto* from = static_cast<const float*>(master);
    rounded_.resize(static_cast<std::size_t>(elements));
    std::transform(from, from + elements, rounded_.begin(), [](float x) { return bf16(x); });
    return rounded_.data();
  }

 private:
  DType to_;
  std::vector<bf16> rounded_;
};

}  // namespace

ExportReport export_hugging_face(const std::string& from, const Manifest& manifest, const std::string& to,
                                 const ExportOptions& options, const ByteProgress& progress) {
  check_model(manifest.tensors, options.model, from);
  const auto files = plan_files(manifest, options);
  std::vector<Part> parts;
  ExportReport report{.files = static_cast<int>(files.size())};
  for (const auto& file : files) {
    for (const Exported& t : file) {
      const StoredTensor& tensor = manifest.tensors[static_cast<std::size_t>(t.tensor)];
      const auto of_tensor = row_parts(tensor, t.tensor);
      parts.insert(parts.end(), of_tensor.begin(), of_tensor.end());
      report.bytes += tensor.shape.elements() * size_of(options.dtype);
      ++report.tensors;
    }
  }

  PendingDirectory pending(to, report.bytes + report.tensors * 1024);
  const std::string& folder = pending.temporary();
  PartReader reader(from, manifest, parts);
  Rounding rounded(options.dtype);
  auto part = parts.begin();
  for (std::size_t f = 0; f < files.size(); ++f) {
    SafetensorsWriter writer(folder + "/" + data_file_name(f, files.size()), header_of(files[f], options));
    for (const Exported& t : files[f]) {
      for (; part != parts.end() && part->tensor == t.tensor; ++part) {
        const std::int64_t elements = part->box.extent.elements();
        writer.append(rounded(reader.next(), elements), elements * size_of(options.dtype));
        if (progress) progress(elements * 4);
      }
    }
    writer.finish();
  }
  write_file(folder + "/model.safetensors.index.json", index_json(files, report.bytes));
  write_file(folder + "/config.json", hugging_face_config(options.model, options.max_positions,
                                                          torch_name(options.dtype), options.bos, options.eos));
  if (!options.tokenizer_name.empty()) write_file(folder + "/" + options.tokenizer_name, options.tokenizer_file);
  pending.commit();
  return report;
}

}  // namespace octet::checkpoint
