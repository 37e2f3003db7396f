#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/dtype.h"
#include "src/base/scale_form.h"

namespace octet {

/// Every GEMM that was run, when asked: which formats were really used can be counted from it.
class GemmTrace {
 public:
  struct Record {
    std::string unit;    ///< "block.3", "head"
    std::string linear;  ///< "attention.wq"
    std::string gemm;    ///< "output", "grad_input", "grad_weight"
    std::int64_t m = 0, n = 0, k = 0;
    DType a = DType::f32, b = DType::f32, c = DType::f32;
    bool fast_accumulate = false, emulate_hopper = false;
    ScaleForm a_scales = ScaleForm::tensor, b_scales = ScaleForm::tensor;
    bool recomputed = false;  ///< done in forward already, and again before backward
  };

  void set_unit(std::string unit) { unit_ = std::move(unit); }
  void set_recomputing(bool recomputing) { recomputing_ = recomputing; }
  void add(Record record) {
    record.unit = unit_;
    record.recomputed = recomputing_;
    records_.push_back(std::move(record));
  }
  const std::vector<Record>& records() const { return records_; }
  void clear() { records_.clear(); }
  /// One JSON object a line.
  std::string json_lines() const;

 private:
  std::string unit_;
  bool recomputing_ = false;
  std::vector<Record> records_;
};

/// GEMMs of a scope are marked as recomputed.
class RecomputedGemms {
 public:
  explicit RecomputedGemms(GemmTrace* trace) : trace_(trace) { set(true); }
  ~RecomputedGemms() { set(false); }
  RecomputedGemms(const RecomputedGemms&) = delete;
  RecomputedGemms& operator=(const RecomputedGemms&) = delete;

 private:
  void set(bool recomputing) const {
    if (trace_ != nullptr) trace_->set_recomputing(recomputing);
  }
  GemmTrace* trace_;
};

}  // namespace octet
