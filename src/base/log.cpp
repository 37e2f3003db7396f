#include "src/base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdio>

namespace octet::log {
namespace {

struct Identity {
  int rank = 0;
  int ranks = 1;
  std::string host;
};
Identity& self() {
  static Identity identity;
  return identity;
}

spdlog::logger& logger() {
  static const auto instance = [] {
    auto l = spdlog::stderr_color_mt("octet");
    l->set_pattern("%H:%M:%S %^%L%$ %v");
    l->flush_on(spdlog::level::info);
    return l;
  }();
  return *instance;
}

std::string with_rank(std::string_view text) {
  const Identity& me = self();
  return me.ranks > 1 ? fmt::format("[rank {} {}] {}", me.rank, me.host, text) : std::string(text);
}

std::string prefixed(std::string_view text) {
  return self().rank != 0 ? with_rank(text) : std::string(text);
}

}  // namespace

void set_identity(int rank, int ranks, std::string host) {
  self() = {rank, ranks, std::move(host)};
}
int rank() {
  return self().rank;
}

std::string identity() {
  const Identity& me = self();
  return me.ranks > 1 ? fmt::format("rank {} of {} on {}", me.rank, me.ranks, me.host) : std::string();
}

void write_info(std::string_view text) {
  if (self().rank == 0) logger().info("{}", text);
}
void write_warning(std::string_view text) {
  logger().warn("{}", prefixed(text));
}
void write_error(std::string_view text) {
  logger().error("{}", prefixed(text));
}

void write_of_rank(Level level, std::string_view text) {
  logger().log(level == Level::warning ? spdlog::level::warn : spdlog::level::info, "{}", with_rank(text));
}

void write_out(std::string_view text) {
  if (self().rank != 0) return;
  fmt::print("{}\n", text);
  std::fflush(stdout);
}

}  // namespace octet::log
