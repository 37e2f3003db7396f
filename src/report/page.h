#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/report/run_files.h"

namespace octet {

/// The texts that a page is put together from.
struct PageParts {
  std::string_view html;  ///< with the places {{style}}, {{library}}, {{data}}, {{script}}
  std::string_view style;
  std::string_view script;
  std::string_view plot_library;  ///< dygraphs; empty where the build had none
  std::string_view plot_extras;   ///< its synchronizer
  std::string_view plot_style;
  std::string_view plot_licence;  ///< goes into the page with it, as a comment
};

/// What a build without dygraphs says.
inline constexpr std::string_view no_plot_library =
    "This build has no library for plots: install dygraphs (Debian: jobs/install-packages.sh libjs-dygraphs), then "
    "configure and build octet again.";

/// All that the page shows, as JSON whose every "<" is escaped, so that it can stand in an HTML script.
std::string report_data(const std::vector<RunFiles>& runs);

/// The page. Usage error no_plot_library where there is no plot library.
std::string make_page(const PageParts& parts, const std::string& data);

}  // namespace octet
