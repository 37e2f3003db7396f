#include "checkpoints/import.h"

#include "checkpoints/durable.h"
#include "jobs/octet/checkpoint/tool.h"
#include "jobs/octet/commands.h"
#include "src/base/log.h"
#include "src/base/progress.h"
#include "src/train/options/run_options.h"

namespace octet::tool {
namespace po = boost::program_options;
namespace {

constexpr std::string_view usage =
    "usage: octet checkpoint import DIR CHECKPOINT [OPTIONS]\n\n"
    "Makes a checkpoint of step 0 from a Hugging Face folder of LlamaForCausalLM: config.json and safetensors in F32,\n"
    "BF16 or F16, all of which fp32 holds exactly; the moments are zero. CHECKPOINT is a new folder. To train from\n"
    "it, call it RUN/checkpoints/step-000000 and start octet-train with the model file that --model-file writes and\n"
    "with RUN as run.dir.\n";

/// As a run stores its own: the section model_shape alone, so that nothing else of a configuration is compared.
std::string stored_config(const ModelConfig& model) {
  std::string text = "model_shape:\n", file = to_yaml(model);
  for (std::size_t begin = 0; begin < file.size();) {
    const std::size_t end = std::min(file.find('\n', begin), file.size());
    text += "  " + file.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return text;
}

}  // namespace

int run_import(const std::vector<std::string>& arguments) {
  std::vector<std::string> paths;
  std::string model_file;
  int writers = 1;
  po::options_description described("options");
  described.add_options()                                                                                       //
      ("folder", po::value(&paths)->required(), "a Hugging Face folder, and the new folder of the checkpoint")  //
      ("writers", po::value(&writers)->default_value(1), "files that the tensors are split over")               //
      ("model-file", po::value(&model_file), "also write the model's shape to this new file, for octet-train");
  if (!parse_arguments(arguments, usage, described, "folder", 2)) return 0;
  if (paths.size() != 2)
    throw usage_error("octet", "import: {} folder given; expected DIR and CHECKPOINT", paths.size());
  check_writers(writers);

  const checkpoint::HuggingFaceModel in(paths[0]);
  for (const std::string& name : in.ignored()) log::info("not needed: {}", name);
  if (!model_file.empty()) checkpoint::write_file(model_file, to_yaml(in.model()));
  const checkpoint::RunState state{.step = 0,
                                   .seed = 0,
                                   .data_fingerprint = 0,
                                   .loss = 0,
                                   .config = stored_config(in.model()),
                                   .layout = fmt::format("imported, {} writer(s)", writers),
                                   .program = "octet " OCTET_VERSION};
  checkpoint::Manifest out;
  {
    Progress progress("importing", in.model().parameters() * 12);  // fp32 and two moments
    out = checkpoint::import_hugging_face(in, paths[1], state, writers,
                                          [&](std::int64_t bytes) { progress.advance(bytes); });
  }
  log::out("{}: {} parameters, {} in {} file(s)", paths[1], in.model().parameters(), format_bytes(bytes_of(out)),
           out.files.size());
  return 0;
}

}  // namespace octet::tool
