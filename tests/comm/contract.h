#pragma once

#include "tests/comm/contract_collectives.h"
#include "tests/comm/contract_groups.h"
