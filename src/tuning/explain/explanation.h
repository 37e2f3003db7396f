#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/tuning/cost_model/model.h"
#include "src/tuning/fit/predict.h"

namespace octet {

// What the cost model says about one collective, for readers.

struct Alternative {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  double us = -1;  ///< -1: excluded
  double bus_gbs = 0;
  double latency_us = 0;  ///< of `us`, what no bytes would take
  std::string_view excluded;
};

/// Bytes for which a choice holds: [from, to); 0 as `to`: to the end of what was looked at, 64 GiB.
struct SizeRange {
  std::int64_t from = 1, to = 0;
  Choice choice;  ///< with the time at `from`
};

/// GB/s of a NIC, by direction.
struct WireRate {
  double sent_gbs = 0, received_gbs = 0;
  /// The rate of the busier direction, which line rate bounds.
  double gbs() const { return std::max(sent_gbs, received_gbs); }
};

struct Explanation {
  Choice choice;
  std::string pinned;             ///< why a tuning file chose; empty: the model did
  std::optional<Prediction> fit;  ///< where the choice's time comes from a tuning file's fits; none: from the model
  double bus_gbs = 0;
  WireRate wire;                          ///< of each NIC
  int nics = 0;                           ///< of a node that carry it
  SizeRange range;                        ///< sizes of the same choice around this one
  std::vector<Alternative> alternatives;  ///< fastest first, then what is excluded
};

struct Question {
  NcclVersion version;
  NcclMachine machine;
  ModelConstants constants;
  Collective collective = Collective::all_reduce;
  CommShape shape;
  std::int64_t bytes = 0;
};

Explanation explain(const Question& question);

/// Every range of sizes from 1 KiB to 64 GiB with its choice. Ranges narrower than 1/16 of a doubling may be missed.
std::vector<SizeRange> switch_points(const Question& question);

/// What each NIC sends and receives while the collective runs; zero on one node. A node has m NICs, moves these bytes
/// in the time, and each NIC 1/m of them. With S bytes, n ranks, k nodes:
///
/// - Rings (ring, pat) enter and leave every node with S x bus_factor(): 2 (n-1)/n S of all_reduce, (n-1)/n S of
///   all_gather and reduce_scatter, S of broadcast and reduce.
/// - Trees (tree, nvls_tree) have k-1 edges between nodes, each with S up and S down: 2 (k-1)/k S each way from the
///   average node.
/// - In the network (collnet_direct, collnet_chain, nvls between nodes) switches add and copy. all_reduce: a node sends
///   the sum of its own ranks, S, and receives the total, S. reduce_scatter: every total needs every node's summand, so
///   that all of S goes up; of the totals the node's own S/k come down. all_gather: the node's own S/k go up once,
///   the switches copy them; those of the others, (k-1)/k S, come down.
WireRate wire_rate(const Question& question, Algorithm algorithm, double us);

/// A measured time is healthy up to the model's time over `healthy_share` and `launch_us` more. The model leaves out
/// what a launch and the start of a pipeline cost: the healthy published figures of small sizes have up to 28 us of
/// that (tests/tuning/cost_model/published.csv), and all but one are healthy by this rule. Where the
/// expected time comes from fits it has the launch already, and a time within their interval is healthy too.
inline constexpr double healthy_share = 0.85;
inline constexpr double launch_us = 30;

struct Health {
  double bus_gbs = 0;        ///< measured
  double share = 0;          ///< of what the model says
  double threshold_gbs = 0;  ///< that a healthy machine reaches
  bool healthy = false;
  /// GB/s that each NIC would have carried by the algorithm that needs least of it, where that is more than
  /// `most_nic_share` of what a NIC can: the value is not of this collective, size and machine. Else 0.
  double impossible_nic_gbs = 0;
  /// The prediction nearest to the measured value, where one is within `near_share` of it.
  std::optional<Alternative> nearest;
};

/// NCCL takes a NIC of 400 Gb/s for 48 GB/s, not 50.
inline constexpr double most_nic_share = 1.1;
inline constexpr double near_share = 0.25;

Health judge(const Question& question, const Explanation& explanation, double measured_us);

}  // namespace octet
