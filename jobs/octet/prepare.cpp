#include "src/corpus/prepare.h"

#include "jobs/octet/commands.h"
#include "src/base/log.h"
#include "src/base/progress.h"

namespace octet {
namespace po = boost::program_options;
namespace {

constexpr std::string_view usage =
    "usage: octet prepare --input TEXT... --output PREFIX [OPTIONS]\n\n"
    "Reads text files and folders and writes PREFIX.bin and PREFIX.idx, token files in Megatron's format for\n"
    "data.train of octet-train, and PREFIX.data.json, which says their smallest and largest token id.\n"
    "Folders are read recursively, sorted by path, without hidden files.\n"
    "Memory does not grow with the text. Nothing is left behind by a run that fails.\n";

void print(const PrepareReport& report) {
  log::out("documents  {}", report.documents);
  log::out("tokens     {}", report.tokens);
  log::out("text       {} bytes in {} files ({} without text, {} skipped)", report.bytes, report.files,
           report.empty_files, report.skipped);
  log::out("time       {:.2f} s ({}/s)", report.seconds,
           format_bytes(static_cast<std::int64_t>(static_cast<double>(report.bytes) / std::max(report.seconds, 1e-9))));
  log::out("written    {}\n           {}", report.bin_path, report.idx_path);
  if (report.entropies) {
    log::out("entropy    order 0 {:.4f}, order 1 {:.4f}, order 2 {:.4f} nats a byte", report.entropies->order0,
             report.entropies->order1, report.entropies->order2);
  }
}

}  // namespace

int run_prepare(const std::vector<std::string>& arguments) {
  PrepareOptions options;
  std::string split;
  po::options_description described("options");
  described.add_options()                                                                                        //
      ("input,i", po::value(&options.inputs)->required()->multitoken(), "text file or folder; may be repeated")  //
      ("output,o", po::value(&options.output)->required(), "PREFIX of the two files; its folder is created")     //
      ("tokenizer", po::value(&options.tokenizer)->default_value(options.tokenizer),
       "how text becomes tokens: bytes")  //
      ("split-documents", po::value(&split)->default_value("none"),
       "what a document is. none: a file; blank-lines: lines between blank lines")  //
      ("overwrite", po::bool_switch(&options.overwrite), "replace files that exist");
  if (!parse_arguments(arguments, usage, described, "input", -1)) return 0;
  options.split = split_documents_from(split);
  print(prepare(options));
  return 0;
}

}  // namespace octet
