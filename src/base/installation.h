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

/// The same without the current directory: for the body of a job's script, which is to be of this version, and of
/// nobody who has made a folder of that name where a user works. (Profiles of clusters may stand there:
/// docs/clusters.md.)
std::vector<std::string> installed_folders(const std::string& path);

/// The first file of that path ("configs/clusters/local.yaml") in these folders, as an absolute path; empty if none has
/// it.
std::string find_shared(const std::string& path);

/// Names of the files with this extension in the folder `path` of all of them, without it, sorted.
std::vector<std::string> shared_names(const std::string& path, const std::string& extension);

}  // namespace octet
