#include "src/ops/scaling.h"

namespace octet {

const Float8Scaling& dynamic_scaling() {
  static const DynamicScaling scaling;
  return scaling;
}

}  // namespace octet
