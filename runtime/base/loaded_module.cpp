//===- loaded_module.cpp - Libraries that executables load while they run -===//

#include "base/loaded_module.h"

#include "base/error.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <grp.h>
#include <memory>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ppopt::runtime {
namespace {

/// Returns whether the group contains only its owner, as with user private
/// groups.
bool isPrivate(gid_t group, uid_t owner) {
  const passwd *user = ::getpwuid(owner);
  const struct group *members = ::getgrgid(group);
  if (!user || !members || std::strcmp(user->pw_name, members->gr_name) != 0)
    return false;
  for (char **member = members->gr_mem; *member; ++member)
    if (std::strcmp(*member, user->pw_name) != 0)
      return false;
  return true;
}

/// Returns who besides root and this process's user may change `path`; empty if
/// nobody.
std::string whoElseMayChange(const std::string &path) {
  struct stat facts;
  if (::stat(path.c_str(), &facts) != 0)
    return {};
  if (facts.st_uid != 0 && facts.st_uid != ::geteuid())
    return path + " belongs to user " + std::to_string(facts.st_uid);
  if (facts.st_mode & S_IWOTH)
    return "every user can write to " + path;
  if ((facts.st_mode & S_IWGRP) && !isPrivate(facts.st_gid, facts.st_uid))
    return "group " + std::to_string(facts.st_gid) + " can write to " + path;
  return {};
}

std::string resolved(const std::string &path) {
  std::unique_ptr<char, void (*)(void *)> real(
      ::realpath(path.c_str(), nullptr), std::free);
  return real ? real.get() : path;
}

} // namespace

LoadedModule::LoadedModule(const std::string &name, const char *variable,
                           int flags, const char *advice)
    : path(resolved(name)) {
  std::string folder = path.substr(0, std::max<size_t>(path.rfind('/'), 1));
  for (const std::string &each : {path, folder})
    if (std::string who = whoElseMayChange(each); !who.empty())
      throw Error("{} is not loaded because it may be another user's code: {}; "
                  "copy it to a folder that only you can write to, and set {} "
                  "to its path",
                  path, who, variable);
  handle = ::dlopen(path.c_str(), flags);
  if (!handle)
    throw Error("{}; {}", ::dlerror(), advice);
}

void *LoadedModule::findAddress(const char *name) const {
  void *address = ::dlsym(handle, name);
  if (!address)
    throw Error("{} has no {}", path.substr(path.rfind('/') + 1), name);
  return address;
}

} // namespace ppopt::runtime
