#pragma once

#include <string>

#include "kernels/cuda/attention/attention_plan.h"

namespace octet::cuda {

/// One of the two is set: cuDNN's plan for rows of several documents, or why our own kernels serve.
struct DocumentPlan {
  const AttentionPlan* plan = nullptr;  ///< lives as AttentionPlans::find says
  std::string why_not;
};

/// The plan for the settings in force; `places` and `longest` as of PackedDocuments. There is one only if both passes
/// have one, since they agree on how log-sum-exps lie. `stream` as of AttentionPlans::find.
DocumentPlan document_plan(AttentionPlans& plans, const AttentionProblem& problem, std::int64_t places,
                           std::int64_t longest, Stream* stream = nullptr);

/// Whether cuDNN is asked for any: its backward pass over documents is made for no order of summation.
bool documents_by_cudnn();

}  // namespace octet::cuda
