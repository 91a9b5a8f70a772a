//===- loaded_module.h - Libraries that executables load while they run ---===//

#ifndef PPOPT_RUNTIME_BASE_LOADED_MODULE_H
#define PPOPT_RUNTIME_BASE_LOADED_MODULE_H

#include <string>

namespace ppopt::runtime {

/// A shared library that was loaded by its path. It is never unloaded.
class LoadedModule {
public:
  /// Throws Error if the library cannot be loaded, or if users other than root
  /// and this user can change it or its folder. `variable` is the environment
  /// variable by which a user names another path. `flags` are those of dlopen;
  /// `advice` says what to do where it fails.
  LoadedModule(const std::string &path, const char *variable, int flags,
               const char *advice);

  /// Returns a function; throws Error if the library lacks it.
  template <typename Function> Function *find(const char *name) const {
    return reinterpret_cast<Function *>(findAddress(name));
  }

private:
  void *findAddress(const char *name) const;

  std::string path;
  void *handle;
};

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_BASE_LOADED_MODULE_H
