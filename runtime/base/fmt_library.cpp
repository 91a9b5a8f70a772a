//===- fmt_library.cpp - The non-inline functions of fmt ------------------===//
//
// fmt is compiled into the runtime: Debian packages it as a shared library
// only, and executables must run where it is not installed.
//
//===----------------------------------------------------------------------===//

#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
// The functions that fmt/format.h declares as instantiated elsewhere, or uses
// as if they were.
template FMT_API auto thousands_sep_impl<char>(locale_ref)
    -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
template FMT_API auto dragonbox::to_decimal(float) noexcept
    -> dragonbox::decimal_fp<float>;
template FMT_API auto dragonbox::to_decimal(double) noexcept
    -> dragonbox::decimal_fp<double>;
} // namespace detail
FMT_END_NAMESPACE
