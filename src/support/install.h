// Where the tools are installed, as they see it themselves: files are found beside them wherever
// the whole folder was put (/usr, a home folder, a build tree).
#pragma once

#include <string>
#include <vector>

namespace fuseflow {

/// The folder of this program with a slash at its end; empty if the system does not tell.
std::string own_folder();

struct InstalledFile {
  std::string name;  ///< without its ending
  std::string path;
};

/// The files of PREFIX/share/fuseflow/FOLDER that end so, sorted by name; none where there is no
/// such folder.
std::vector<InstalledFile> installed_files(const std::string& folder, const std::string& ending);

}  // namespace fuseflow
