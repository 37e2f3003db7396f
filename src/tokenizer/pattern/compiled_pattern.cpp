#include "src/tokenizer/pattern/compiled_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>

#include "src/base/error.h"

namespace octet {
namespace {

constexpr std::size_t first_stack = 32 << 10;  // bytes, of the machine code
constexpr std::size_t largest_stack = 16 << 20;
constexpr std::uint32_t largest_heap = 256 << 10;  // KiB, of the interpreter

std::string message_of(int error) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(error, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

pcre2_code* code_of(void* code) {
  return static_cast<pcre2_code*>(code);
}

}  // namespace

std::shared_ptr<const CompiledPattern> CompiledPattern::compile(const std::string& pattern, std::string& refused) {
  std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)> context(
      pcre2_compile_context_create(nullptr), pcre2_compile_context_free);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE place = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                   PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &place, context.get());
  if (code == nullptr) {
    refused = message_of(error);
    return nullptr;
  }
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // where it cannot, its interpreter matches the same
  return std::shared_ptr<const CompiledPattern>(new CompiledPattern(code));
}

CompiledPattern::~CompiledPattern() {
  pcre2_code_free(code_of(code_));
}

struct PatternMatcher::State {
  pcre2_match_data* data = nullptr;
  pcre2_match_context* context = nullptr;
  pcre2_jit_stack* stack = nullptr;
};

void PatternMatcher::Free::operator()(State* state) const {
  pcre2_match_data_free(state->data);
  pcre2_match_context_free(state->context);
  pcre2_jit_stack_free(state->stack);
  delete state;
}

PatternMatcher::PatternMatcher(std::shared_ptr<const CompiledPattern> pattern)
    : pattern_(std::move(pattern)), state_(new State) {
  state_->data = pcre2_match_data_create(1, nullptr);
  state_->context = pcre2_match_context_create(nullptr);
  state_->stack = pcre2_jit_stack_create(first_stack, largest_stack, nullptr);
  if (state_->data == nullptr || state_->context == nullptr) throw std::bad_alloc();
  pcre2_set_heap_limit(state_->context, largest_heap);
  pcre2_jit_stack_assign(state_->context, nullptr, state_->stack);
}

std::optional<PatternMatcher::Match> PatternMatcher::find(std::string_view text, std::size_t begin,
                                                          bool is_utf8) const {
  const auto match = [&](std::uint32_t options) {
    return pcre2_match(code_of(pattern_->code_), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), begin,
                       options | (is_utf8 ? PCRE2_NO_UTF_CHECK : 0), state_->data, state_->context);
  };
  int result = match(0);
  if (result == PCRE2_ERROR_JIT_STACKLIMIT) result = match(PCRE2_NO_JIT);  // takes more memory and time
  if (result == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (result >= 0) {
    const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(state_->data);
    return Match{ends[0], ends[1]};
  }
  if (result <= PCRE2_ERROR_UTF8_ERR1 && result >= PCRE2_ERROR_UTF8_ERR21) {
    throw usage_error("tokenizer", "a text is no UTF-8: {}", message_of(result));
  }
  throw usage_error("tokenizer", "PCRE2 gives up on the pattern at offset {} of a text of {} bytes: {}", begin,
                    text.size(), message_of(result));
}

}  // namespace octet
