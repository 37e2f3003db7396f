#pragma once

#include "src/corpus/prepare_options.h"
#include "src/tokenizer/training/word_counter.h"

namespace octet {

/// The words of texts, counted for a vocabulary (train_bpe). Inputs, formats, documents, what is done with broken
/// records and text that is no UTF-8, and workers are as for prepare; of the other options none counts. The words do
/// not depend on the number of workers. Usage errors as of prepare, and where there is no text at all.
WordCounter count_words(const PrepareOptions& options);

}  // namespace octet
