#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoints/format/manifest.h"
#include "src/comm/communicator.h"
#include "src/data/tokenizer_identity.h"
#include "src/evaluate/forward_model.h"
#include "src/model/config.h"
#include "src/ops/precision.h"
#include "src/tokenizer/tokenizer.h"

namespace octet {

/// A trained model on the disk, as far as it is known without its weights.
struct ModelSource {
  std::string directory;      ///< of the checkpoint, or the Hugging Face folder
  bool hugging_face = false;  ///< else a checkpoint, every byte of which was compared with its manifest
  checkpoint::Manifest manifest{};
  ModelConfig model{};
  std::int64_t window = 0;                      ///< tokens that it was trained to see at once; 0: not known
  Precision precision = Precision::bf16;        ///< that it was trained in; of a Hugging Face folder not known: bf16
  Float8Config float8{};                        ///< likewise, where that is float8
  std::optional<TokenizerIdentity> identity{};  ///< of the tokenizer of its data, where the run knows it
  /// What the config.json of a Hugging Face folder, or of the one that a checkpoint was imported from, says begins and
  /// ends a text; the first, where several may.
  std::optional<std::int32_t> bos{}, eos{};
  /// Ids of which each ends a generated text, where such a folder says them: those of generation_config.json, else
  /// those of config.json. Models that hold conversations have several.
  std::vector<std::int32_t> ends{};
  std::string tokenizer{};  ///< name or path for make_tokenizer; empty: it is not there

  /// "runs/a/checkpoints/step-000120", for people and results.
  const std::string& name() const { return directory; }
};

/// What `path` means: a checkpoint, a run (its newest whole checkpoint), or a Hugging Face folder of LlamaForCausalLM.
/// Usage error where it is none of them, or damaged. Collective over `control` (src/comm/control_exchange.h).
ModelSource find_model(const std::string& path, Communicator& control);

/// Whether the model's own tokenizer is there.
bool has_tokenizer(const ModelSource& source);

/// The tokenizer of the model's texts: `given` (name or path), or where that is empty the model's own; that `given`
/// takes its place is logged. It has the bos and eos of the model's identity, or where that knows none those of
/// `of_data`, the tokenizer of the data that the model is to score. Usage error where there is none, and for one that
/// does not fit: another one than the model's data were made with, or with ids that the model does not have.
std::unique_ptr<Tokenizer> tokenizer_of(const ModelSource& source, const std::string& given,
                                        bool control_tokens = false,
                                        const std::optional<TokenizerIdentity>& of_data = {});

/// Reads the weights into the model: each rank its pieces, each byte once. Collective over `control`.
void load_weights(const ModelSource& source, ForwardModel& model, Stream& stream, Communicator& control);

}  // namespace octet
