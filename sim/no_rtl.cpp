// Of a library with fast boards alone.

#include "rtl.h"

namespace nectar {

std::unique_ptr<Rtl> make_rtl() { return nullptr; }

}  // namespace nectar
