#include "checkpoints/hugging_face/import.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "checkpoints/format/durable.h"
#include "checkpoints/hugging_face/hugging_face_files.h"
#include "jobs/octet/checkpoint/tool.h"
#include "jobs/octet/commands.h"
#include "src/base/files.h"
#include "src/base/log.h"
#include "src/base/options/text.h"
#include "src/base/progress.h"
#include "src/base/read_file.h"
#include "src/base/replace_file.h"
#include "src/corpus/outputs.h"
#include "src/run_config/options/model_file.h"
#include "src/tokenizer/make_tokenizer.h"

namespace octet::tool {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view import_usage =
    "usage: octet checkpoint import DIR CHECKPOINT [OPTIONS]\n\n"
    "Makes a checkpoint of step 0 from a Hugging Face folder of LlamaForCausalLM: config.json and safetensors in F32,\n"
    "BF16 or F16, all of which fp32 holds exactly; the moments are zero. The files of the tokenizer are kept in it.\n"
    "CHECKPOINT is a new folder. To train from it, call it RUN/checkpoints/step-000000 and start octet-train with the\n"
    "model file that --model-file writes and with RUN as run.dir.\n";

/// What the caller has no right to read is the caller's to mend, as a wrong path is.
template <typename Read>
auto read_for_caller(const Read& read) {
  try {
    return read();
  } catch (const files::ReadError& error) {
    if (error.error() != EACCES && error.error() != EPERM) throw;
    throw usage_error("octet", "import: cannot read {}: {}", error.path(), error.reason());
  }
}

/// The model file. It is written before the checkpoint, and goes again where that fails; once the checkpoint is there,
/// nothing is left that could fail. So the same command can be repeated.
class ModelFile {
 public:
  /// Before anything is written: an import that fails for its name would leave what the same command stumbles over.
  /// Its folder is there then. Without a path there is none.
  ModelFile(const std::string& path, std::string text) : path_(path), text_(std::move(text)) {
    if (path.empty()) return;
    std::error_code error;
    // One that an import left which was killed is as good as new.
    is_there_ = fs::exists(fs::symlink_status(path, error)) && read_text_file(path) == text_;
    if (!is_there_ && fs::exists(fs::symlink_status(path, error))) {
      throw usage_error("octet", "--model-file = {}: exists; expected the name of a new file", path);
    }
    const fs::path folder = fs::path(path).parent_path();
    fs::create_directories(folder.empty() ? "." : folder, error);
    errno = error.value();
    if (error || !can_replace_file(path)) throw not_written("octet", "--model-file = " + path);
  }
  ~ModelFile() {
    if (is_written_) std::remove(path_.c_str());
  }
  ModelFile(const ModelFile&) = delete;
  ModelFile& operator=(const ModelFile&) = delete;

  void write() {
    if (path_.empty() || is_there_) return;
    is_written_ = true;
    if (!replace_file_durably(path_, text_)) throw not_written("octet", "--model-file = " + path_);
  }
  void keep() { is_written_ = false; }

 private:
  std::string path_, text_;
  bool is_there_ = false, is_written_ = false;
};

/// Which tokenizer the folder has, so that other ones are refused. One that is not understood here is kept as it is.
std::string tokenizer_text(const std::string& folder, const ModelConfig& model) {
  std::string why;
  try {
    const auto tokenizer = make_tokenizer(folder);
    const TokenizerIdentity identity = identity_of(tokenizer->info());
    if (identity.vocab_size <= model.vocab_size) return json_of(identity).dump();
    why = fmt::format("{}: the tokenizer has {} ids, and the model {}", folder, identity.vocab_size, model.vocab_size);
  } catch (const Error& error) {
    why = error.what();
  }
  log::warning("{}; its files are kept, and no other tokenizer will be refused", why);
  return "";
}

/// As a run stores its own: the section model_shape and which tokenizer there is, so that nothing else of a
/// configuration is compared.
std::string stored_config(const ModelConfig& model, const std::string& tokenizer) {
  std::string text = "model_shape:\n", file = to_yaml(model);
  for (std::size_t begin = 0; begin < file.size();) {
    const std::size_t end = std::min(file.find('\n', begin), file.size());
    text += "  " + file.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  if (!tokenizer.empty()) text += "data_history:\n  tokenizer: " + in_quotes(tokenizer) + "\n";
  return text;
}

}  // namespace

int run_import(const std::vector<std::string>& arguments) {
  std::vector<std::string> paths;
  std::string model_file;
  int writers = 0;
  Schema schema;
  schema.add("folder", paths).required().several().help("A Hugging Face folder, and the new folder of the checkpoint.");
  schema.add("writers", writers)
      .between(0, most_writers)
      .help(
          "Files that the tensors are split over; 0: as many as leave each 16 GiB at most: 1, 2, 4 and so on to 512.");
  schema.add("model-file", model_file).help("Also write the model's shape to this new file, for octet-train.");
  if (!parse_words(arguments, import_usage, schema, "folder", 2)) return 0;
  if (paths.size() != 2)
    throw usage_error("octet", "import: {} folder given; expected DIR and CHECKPOINT", paths.size());
  checkpoint::NewParents folders_of_model_file(model_file.empty() ? "." : model_file);
  const auto in = read_for_caller([&] { return checkpoint::HuggingFaceModel(paths[0]); });
  const std::int64_t bytes = in.model().parameters() * 12;  // fp32 and two moments
  if (writers == 0) writers = checkpoint::writers_by_size(bytes);
  ModelFile shape(model_file, to_yaml(in.model()));
  for (const std::string& text : in.warnings()) log::warning("{}", text);
  for (const std::string& name : in.ignored()) log::info("not needed: {}", name);
  const auto beside = read_for_caller([&] { return checkpoint::files_beside(paths[0]); });
  std::vector<std::string> kept;
  kept.reserve(beside.size());
  for (const checkpoint::PlainFile& file : beside) kept.push_back(file.name);
  const std::string tokenizer = checkpoint::has_tokenizer(kept) ? tokenizer_text(paths[0], in.model()) : "";
  const checkpoint::RunState state{.step = 0,
                                   .seed = 0,
                                   .data_fingerprint = 0,
                                   .loss = 0,
                                   .config = stored_config(in.model(), tokenizer),
                                   .layout = fmt::format("imported, {} writer(s)", writers),
                                   .program = "octet " OCTET_VERSION};
  shape.write();
  checkpoint::Manifest out;
  {
    Progress progress("importing", bytes);
    out = checkpoint::import_hugging_face(
        in, paths[1], state, writers, [&](std::int64_t read) { progress.advance(read); }, beside);
  }
  shape.keep();
  folders_of_model_file.keep();
  log::out("{}: {} parameters, {} in {} file(s)", paths[1], in.model().parameters(), format_bytes(bytes_of(out)),
           out.files.size());
  if (!kept.empty()) log::out("kept beside the weights: {}", joined(kept));
  return 0;
}

}  // namespace octet::tool
