// libbsd's lists and trees, through the one header that knows where they are. A missing libbsd stops the compiler there.
#pragma once

#include "../../CBSD/shim.h"
