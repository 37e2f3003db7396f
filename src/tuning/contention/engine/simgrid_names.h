#pragma once

#include <simgrid/version.h>
#include <functional>
#include <simgrid/s4u.hpp>
#include <string>

/// What SimGrid 4.0 has given other names; nothing else knows its version.
namespace octet::simgrid_names {

namespace sg = simgrid::s4u;

inline sg::NetZone* add_zone(sg::Engine& engine, const std::string& name) {
#if SIMGRID_VERSION_MAJOR >= 4
  return engine.get_netzone_root()->add_netzone_empty(name);
#else
  static_cast<void>(engine);
  return sg::create_empty_zone(name);
#endif
}

/// `rate` in bytes a second.
inline sg::Link* add_link(sg::NetZone& zone, const std::string& name, double rate) {
#if SIMGRID_VERSION_MAJOR >= 4
  return zone.add_link(name, rate);
#else
  return zone.create_link(name, rate);
#endif
}

inline sg::Host* add_host(sg::NetZone& zone, const std::string& name) {
#if SIMGRID_VERSION_MAJOR >= 4
  return zone.add_host(name, 1.0);
#else
  return zone.create_host(name, 1.0);
#endif
}

inline sg::ActorPtr add_actor(sg::Engine& engine, const std::string& name, sg::Host* host,
                              const std::function<void()>& code) {
#if SIMGRID_VERSION_MAJOR >= 4
  return engine.add_actor(name, host, code);
#else
  static_cast<void>(engine);
  return sg::Actor::create(name, host, code);
#endif
}

}  // namespace octet::simgrid_names
