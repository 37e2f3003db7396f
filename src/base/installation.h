#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

// Where a program finds what comes with it.

/// The file of this program, without symbolic links; empty where the system does not say.
std::filesystem::path program_path();

/// A folder of an installation or a build beside that of its programs ("lib"); empty where the program's is not known.
std::filesystem::path beside_programs(std::string_view folder);

/// Folders where files that come with Octet may lie, below each of which `path` ("configs/clusters") is looked for: the
/// current directory, share/octet beside the folder of the installed program, the source tree; each with `path` behind.
std::vector<std::string> shared_folders(const std::string& path);

/// The same without the current directory. For the body of a job's script, which has to be the one of this version, and
/// not one of whoever has made a folder of that name in the user's working directory. (Profiles of clusters may lie
/// there: docs/clusters.md.)
std::vector<std::string> installed_folders(const std::string& path);

/// The first file of that path ("configs/clusters/local.yaml") in these folders, as an absolute path; empty if none has
/// it.
std::string find_shared(const std::string& path);

/// The names of the files with this extension in any of shared_folders(path), sorted, without the extension.
std::vector<std::string> shared_names(const std::string& path, const std::string& extension);

}  // namespace octet
