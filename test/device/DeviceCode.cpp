//===- DeviceCode.cpp - Compiles device code for this machine -------------===//

#include "DeviceCode.h"

#include "Device.h"
#include "InstrumentDevice.h"
#include "Intrinsics.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ExecutionEngine/Orc/ObjectTransformLayer.h"
#include "llvm/IR/AttributeMask.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Verifier.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SHA1.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/Scalar/ScalarizeMaskedMemIntrin.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

using namespace llvm;
using namespace emulated;

static constexpr unsigned kConstantSpace = 4, kGlobalSpace = 1,
                          kSharedSpace = 3;
/// Bytes between variables, which no variable has.
static constexpr uint64_t kGap = 256;
/// The most that a launch can ask for, of all GPUs.
static constexpr uint64_t kMostShared = 228 * 1024;

//===----------------------------------------------------------------------===//
// What the code calls
//===----------------------------------------------------------------------===//

static void read(uint64_t address, uint32_t site) {
  Device &device = theDevice();
  device.checkAccess(address, device.siteAt(site).bytes, false, site);
}
static void write(uint64_t address, uint32_t site) {
  Device &device = theDevice();
  device.checkAccess(address, device.siteAt(site).bytes, true, site);
}
static void range(uint64_t address, uint64_t bytes, int32_t isWrite,
                  uint32_t site) {
  theDevice().checkAccess(address, bytes, isWrite, site);
}
static void local(uint64_t address, uint64_t array, uint64_t bytes,
                  uint64_t length, uint32_t site) {
  Device &device = theDevice();
  if (length > bytes || address - array > bytes - length)
    device.fail("touches " + std::to_string(length) + " bytes at byte " +
                    std::to_string(static_cast<int64_t>(address - array)) +
                    " of an array of its own, which has " +
                    std::to_string(bytes),
                device.siteAt(site).text);
}

static uint32_t bf16OfF32(float x) {
  if (std::isnan(x))
    return 0x7fff;
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
/// Rounds once: to f32 by cutting, with a last bit that says that something was
/// cut off.
static uint32_t bf16OfF64(double x) {
  auto cut = static_cast<float>(x);
  if (std::isnan(x) || std::isinf(cut) || cut == x)
    return bf16OfF32(cut);
  if (std::fabs(cut) > std::fabs(x))
    cut = std::nextafter(cut, 0.0f);
  uint32_t bits;
  memcpy(&bits, &cut, sizeof bits);
  bits |= 1;
  memcpy(&cut, &bits, sizeof bits);
  return bf16OfF32(cut);
}
/// What LLVM's code for x86 calls where it computes with bf16: the result is in
/// the low bits of the register in which an f32 is returned.
static float truncate(float x) {
  uint32_t half = bf16OfF32(x);
  float result;
  memcpy(&result, &half, sizeof half);
  return result;
}

//===----------------------------------------------------------------------===//
// Kernels and variables
//===----------------------------------------------------------------------===//

/// Returns the threads of a block from "nvvm.reqntid"="256,1,1".
static Expected<unsigned> getThreads(const Function &kernel) {
  StringRef text = kernel.getFnAttribute("nvvm.reqntid").getValueAsString();
  auto [x, rest] = text.split(',');
  unsigned threads = 0;
  if (x.getAsInteger(10, threads) || threads == 0 ||
      (!rest.empty() && rest != "1" && rest != "1,1"))
    return createStringError(
        "kernel '" + kernel.getName() +
        "' needs the attribute \"nvvm.reqntid\"=\"N,1,1\", "
        "not \"" +
        text + "\"");
  return threads;
}

/// Adds the functions and variables that a function uses.
static void addUsed(Function &function, SetVector<GlobalObject *> &used) {
  SmallVector<Value *> work;
  SmallPtrSet<Value *, 32> seen;
  for (Instruction &instruction : instructions(function))
    append_range(work, instruction.operands());
  while (!work.empty()) {
    Value *value = work.pop_back_val();
    if (!isa<Constant>(value) || !seen.insert(value).second)
      continue;
    if (auto *object = dyn_cast<GlobalObject>(value)) {
      if (!used.insert(object))
        continue;
      if (auto *callee = dyn_cast<Function>(object))
        for (Instruction &instruction : instructions(*callee))
          append_range(work, instruction.operands());
      continue;
    }
    append_range(work, cast<User>(value)->operands());
  }
}

/// Gives every variable a name of its own that the JIT finds, and an address
/// where it lies in shared memory. Its bytes in `variables`.
static Expected<uint64_t> placeVariables(Module &module,
                                         StringMap<Variable> &variables) {
  uint64_t next = kGap;
  for (GlobalVariable &global : module.globals()) {
    std::string name = global.getName().str();
    uint64_t bytes =
        module.getDataLayout().getTypeAllocSize(global.getValueType());
    unsigned space = global.getAddressSpace();
    bool isShared = space == kSharedSpace;
    if (!isShared &&
        !(global.isConstant() && global.hasInitializer() &&
          (space == 0 || space == kGlobalSpace || space == kConstantSpace)))
      return createStringError("'@" + name +
                               "' is neither a variable in shared "
                               "memory nor a constant, which is all that the "
                               "emulated device has");
    Variable variable{
        (isShared ? "shared memory @" : "constant @") + name,
        "ppopt_emulated_variable_" + std::to_string(variables.size()),
        isShared ? Region::Kind::Shared : Region::Kind::Constant, 0, bytes};
    global.setName(variable.symbol);
    global.setVisibility(GlobalValue::DefaultVisibility);
    global.setDSOLocal(false);
    global.setLinkage(GlobalValue::ExternalLinkage);
    if (isShared) {
      // Aligned as it says, and no better.
      uint64_t align = global.getAlign().valueOrOne().value();
      next = alignTo(next, 2 * align) + align;
      variable.address = next;
      next += (bytes ? bytes : kMostShared) + kGap;
      global.setInitializer(nullptr);
    }
    variables[global.getName()] = variable;
  }
  return next;
}

static std::string getEntryName(StringRef kernel) {
  return ("ppopt_emulated_thread_" + kernel).str();
}

/// Adds a function that calls a kernel with arguments from a list.
static Function *addEntry(Function &kernel) {
  Module &module = *kernel.getParent();
  LLVMContext &context = module.getContext();
  Type *pointer = PointerType::get(context, 0);
  auto *entry = Function::Create(
      FunctionType::get(Type::getVoidTy(context), {pointer}, false),
      GlobalValue::ExternalLinkage, getEntryName(kernel.getName()), module);
  IRBuilder<> b(BasicBlock::Create(context, "", entry));
  SmallVector<Value *> arguments;
  for (Argument &argument : kernel.args()) {
    Value *address = b.CreateConstInBoundsGEP1_64(pointer, entry->getArg(0),
                                                  argument.getArgNo());
    Value *value = b.CreateLoad(pointer, address);
    arguments.push_back(
        b.CreatePointerBitCastOrAddrSpaceCast(value, argument.getType()));
  }
  b.CreateCall(&kernel, arguments);
  b.CreateRetVoid();
  return entry;
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

/// Masked accesses become branches, which are checked as all others.
static void scalarizeMaskedAccesses(Module &module) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager sccs;
  ModuleAnalysisManager modules;
  PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  ModulePassManager passes;
  passes.addPass(
      createModuleToFunctionPassAdaptor(ScalarizeMaskedMemIntrinPass()));
  passes.run(module, modules);
}

/// Makes functions those of this machine.
static void retarget(Module &module, const DataLayout &layout,
                     const Triple &triple) {
  module.setDataLayout(layout);
  module.setTargetTriple(triple);
  for (Function &function : module) {
    if (function.isIntrinsic())
      continue;
    function.setCallingConv(CallingConv::C);
    AttributeMask all;
    for (const Attribute &attribute : function.getAttributes().getFnAttrs())
      if (attribute.isStringAttribute())
        all.addAttribute(attribute.getKindAsString());
    function.removeFnAttrs(all);
    // Each thread goes its own way, and a call may give up the thread.
    function.removeFnAttr(Attribute::Convergent);
    function.removeFnAttr(Attribute::WillReturn);
    function.removeFnAttr(Attribute::NoSync);
    function.removeFnAttr(Attribute::NoCallback);
    function.removeFnAttr(Attribute::Memory);
    if (!function.isDeclaration()) {
      // A frame of several pages must not reach across the end of the stack.
      function.addFnAttr("probe-stack", "inline-asm");
      function.setLinkage(GlobalValue::ExternalLinkage);
      function.setVisibility(GlobalValue::DefaultVisibility);
      function.setComdat(nullptr);
    }
    for (Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<CallInst>(&instruction)) {
        call->setCallingConv(CallingConv::C);
        const AttributeList &attributes = call->getAttributes();
        if (!isa<IntrinsicInst>(call))
          call->setAttributes(
              attributes.removeFnAttributes(module.getContext()));
      }
  }
}

Expected<std::unique_ptr<orc::LLJIT>>
emulated::createJit(FPOpFusion::FPOpFusionMode fusion, CodeGenOptLevel level) {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  auto machine = orc::JITTargetMachineBuilder::detectHost();
  if (!machine)
    return machine.takeError();
  machine->setCodeGenOptLevel(level);
  // Their conversions to bf16 flush subnormal numbers.
  machine->addFeatures({"-avx512bf16", "-avxneconvert", "-amx-bf16"});
  machine->getOptions().AllowFPOpFusion = fusion;
  auto jit = orc::LLJITBuilder()
                 .setJITTargetMachineBuilder(std::move(*machine))
                 .create();
  if (!jit)
    return jit.takeError();
  auto process = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      (*jit)->getDataLayout().getGlobalPrefix());
  if (!process)
    return process.takeError();
  (*jit)->getMainJITDylib().addGenerator(std::move(*process));
  orc::SymbolMap symbols;
  symbols[(*jit)->mangleAndIntern("__truncsfbf2")] = {
      orc::ExecutorAddr::fromPtr(&truncate), JITSymbolFlags::Exported};
  if (Error error =
          (*jit)->getMainJITDylib().define(orc::absoluteSymbols(symbols)))
    return error;
  return jit;
}

/// Defines what the module declares.
static Error defineSymbols(orc::LLJIT &jit, const Module &module,
                           const std::vector<Site> &sites,
                           const StringMap<Variable> &variables) {
  StringMap<const void *> known;
  known["ppopt_emulated_sites"] = sites.data();
  known["ppopt_emulated_site"] = &theDevice().site;
  auto add = [&](StringRef name, auto *function) {
    known[name] = reinterpret_cast<const void *>(function);
  };
  add("ppopt_emulated_read", read);
  add("ppopt_emulated_write", write);
  add("ppopt_emulated_range", range);
  add("ppopt_emulated_local", local);
  add("ppopt_emulated_bf16_of_f32", bf16OfF32);
  add("ppopt_emulated_bf16_of_f64", bf16OfF64);
  for (const auto &each : variables)
    if (each.second.kind == Region::Kind::Shared)
      known[each.first()] = reinterpret_cast<const void *>(each.second.address);
  for (const Function &function : module) {
    StringRef name = function.getName();
    if (name.consume_front("ppopt_emulated."))
      if (const DeviceIntrinsic *intrinsic = findIntrinsic(name.str()))
        known[function.getName()] =
            intrinsic->direct
                ? intrinsic->direct
                : reinterpret_cast<const void *>(intrinsic->packed);
  }
  orc::SymbolMap symbols;
  for (const auto &each : known)
    symbols[jit.mangleAndIntern(each.first())] = {
        orc::ExecutorAddr::fromPtr(each.second), JITSymbolFlags::Exported};
  return jit.getMainJITDylib().define(orc::absoluteSymbols(symbols));
}

const KernelCode *DeviceCode::find(StringRef name) const {
  auto it = find_if(
      kernels, [&](const KernelCode &kernel) { return kernel.name == name; });
  return it == kernels.end() ? nullptr : &*it;
}

/// Returns the module of a text; refuses what is not for NVPTX.
static Expected<std::unique_ptr<Module>> readModule(MemoryBufferRef text,
                                                    LLVMContext &context) {
  SMDiagnostic diagnostic;
  std::unique_ptr<Module> module = parseIR(text, diagnostic, context);
  if (!module) {
    std::string message;
    raw_string_ostream out(message);
    diagnostic.print("", out, /*ShowColors=*/false);
    return createStringError(StringRef(message).trim());
  }
  if (!module->getTargetTriple().isNVPTX())
    return createStringError("'" + text.getBufferIdentifier() + "' is for '" +
                             module->getTargetTriple().str() +
                             "', not for nvptx64-nvidia-cuda");
  return module;
}

/// Adds what a function that a kernel uses says of the kernel.
static void describeFunction(const Function &function, KernelCode &kernel) {
  const DataLayout &layout = function.getDataLayout();
  auto touch = [&](Type *type, Align align) {
    uint64_t bytes = layout.getTypeStoreSize(type->getScalarType());
    kernel.elementBytes =
        MinAlign(kernel.elementBytes, MinAlign(bytes, align.value()));
  };
  for (const Instruction &instruction : instructions(function))
    if (auto *load = dyn_cast<LoadInst>(&instruction))
      touch(load->getType(), load->getAlign());
    else if (auto *store = dyn_cast<StoreInst>(&instruction))
      touch(store->getValueOperand()->getType(), store->getAlign());
    else if (isa<MemIntrinsic>(instruction))
      kernel.elementBytes = 1;
}

/// Returns the kernels, which cannot run yet.
static Expected<std::vector<KernelCode>>
describeKernels(Module &module, const StringMap<Variable> &variables) {
  std::vector<KernelCode> kernels;
  for (Function &function : module) {
    if (function.getCallingConv() != CallingConv::PTX_Kernel)
      continue;
    auto threads = getThreads(function);
    if (!threads)
      return threads.takeError();
    KernelCode &kernel = kernels.emplace_back();
    kernel.name = function.getName().str();
    kernel.threads = *threads;
    kernel.arguments = function.arg_size();
    kernel.elementBytes = 8;
    describeFunction(function, kernel);
    SetVector<GlobalObject *> used;
    addUsed(function, used);
    for (GlobalObject *object : used) {
      if (isa<GlobalVariable>(object)) {
        kernel.variables.push_back(variables.lookup(object->getName()));
        continue;
      }
      describeFunction(*cast<Function>(object), kernel);
      if (const auto *intrinsic = findIntrinsic(object->getName().str()))
        kernel.isAlone &= !intrinsic->packed || !intrinsic->isWithOthers;
    }
  }
  return kernels;
}

/// Makes the code check itself, and fit for this machine.
Error DeviceCode::transform(const Texts &texts, Checks checks) {
  sites->emplace_back(); // none
  if (Error error = instrumentAccesses(*module, texts, checks, *sites))
    return error;
  if (Error error = replaceIntrinsics(*module, texts, *sites))
    return error;
  retarget(*module, jit->getDataLayout(), jit->getTargetTriple());
  for (KernelCode &kernel : kernels) {
    addEntry(*module->getFunction(kernel.name));
    kernel.sites = sites.get();
  }
  std::string wrong;
  raw_string_ostream out(wrong);
  if (verifyModule(*module, &out))
    return createStringError("the instrumented code is wrong: " + wrong);
  return Error::success();
}

/// How ORC names the object of a module.
static constexpr StringLiteral kOfModule = "-jitted-objectbuffer";

/// Keeps a compiled part for others: its module is named for the file.
static Expected<std::unique_ptr<MemoryBuffer>>
keepObject(std::unique_ptr<MemoryBuffer> object) {
  StringRef path = object->getBufferIdentifier();
  if (path.consume_back(kOfModule))
    if (Error error = writeToOutput(path, [&](raw_ostream &out) {
          out << object->getBuffer();
          return Error::success();
        }))
      return error;
  return object;
}

Expected<DeviceCode> DeviceCode::read(MemoryBufferRef text, Checks checks,
                                      StringRef objects) {
  DeviceCode code;
  auto context = std::make_unique<LLVMContext>();
  auto module = readModule(text, *context);
  if (!module)
    return module.takeError();
  code.context = orc::ThreadSafeContext(std::move(context));
  code.module = std::move(*module);
  // Few kernels run for as long as it would take to optimise their code.
  auto jit = createJit(FPOpFusion::Strict, CodeGenOptLevel::None);
  if (!jit)
    return jit.takeError();
  code.jit = std::move(*jit);
  if (!objects.empty()) {
    if (std::error_code error = sys::fs::create_directories(objects))
      return createStringError("can't make the folder '" + objects +
                               "': " + error.message());
    SHA1 digest;
    digest.update(text.getBuffer());
    code.objects = (objects + "/" + toHex(digest.final()) + "-" +
                    Twine(static_cast<unsigned>(checks)) + "-")
                       .str();
    code.jit->getObjTransformLayer().setTransform(keepObject);
  }
  if (Error error = code.prepare(checks))
    return error;
  return code;
}

Error DeviceCode::prepare(Checks checks) {
  scalarizeMaskedAccesses(*module);
  Texts texts = printInstructions(*module);
  StringMap<Variable> variables;
  auto sharedBytes = placeVariables(*module, variables);
  if (!sharedBytes)
    return sharedBytes.takeError();
  shared = std::shared_ptr<void>(
      aligned_alloc(4096, alignTo(*sharedBytes, 4096)), std::free);
  for (auto &each : variables)
    if (each.second.kind == Region::Kind::Shared)
      each.second.address += reinterpret_cast<uint64_t>(shared.get());
  auto described = describeKernels(*module, variables);
  if (!described)
    return described.takeError();
  kernels = std::move(*described);
  if (Error error = transform(texts, checks))
    return error;
  if (Error error = defineSymbols(*jit, *module, *sites, variables))
    return error;
  return add(
      [](const GlobalValue &value) { return isa<GlobalVariable>(value); });
}

/// Returns the file of a compiled part.
std::string DeviceCode::getObjectPath(
    function_ref<bool(const GlobalValue &)> isTaken) const {
  SHA1 names;
  for (const GlobalValue &value : module->global_values())
    if (!value.isDeclaration() && isTaken(value))
      names.update((value.getName() + "\n").str());
  return objects + toHex(names.final()) + ".o";
}

/// Gives the compiler a copy of a part of the module, unless somebody has
/// compiled it. What it declares is defined in other parts.
Error DeviceCode::add(function_ref<bool(const GlobalValue &)> isTaken) {
  std::string path = objects.empty() ? "" : getObjectPath(isTaken);
  if (!path.empty())
    if (auto object = MemoryBuffer::getFile(path))
      return jit->addObjectFile(std::move(*object));
  ValueToValueMapTy map;
  std::unique_ptr<Module> part =
      CloneModule(*module, map, [&](const GlobalValue *value) {
        return !value->isDeclaration() && isTaken(*value);
      });
  part->setModuleIdentifier(path);
  return jit->addIRModule(orc::ThreadSafeModule(std::move(part), context));
}

Error DeviceCode::compile(ArrayRef<KernelCode *> kernels) {
  auto missing = to_vector(make_filter_range(
      kernels, [](const KernelCode *kernel) { return !kernel->thread; }));
  if (missing.empty())
    return Error::success();
  SetVector<GlobalObject *> used;
  for (const KernelCode *kernel : missing) {
    Function *entry = module->getFunction(getEntryName(kernel->name));
    used.insert(entry);
    addUsed(*entry, used);
  }
  // Functions that several kernels call are compiled with the first of them.
  auto isTaken = [&](const GlobalValue &value) {
    auto *object = dyn_cast<Function>(&value);
    return object && used.contains(const_cast<Function *>(object)) &&
           !isCompiled.contains(object->getName());
  };
  if (Error error = add(isTaken))
    return error;
  for (GlobalObject *object : used)
    isCompiled.insert(object->getName());
  for (KernelCode *kernel : missing)
    if (Error error = link(*kernel))
      return error;
  return Error::success();
}

/// Finds what is compiled.
Error DeviceCode::link(KernelCode &kernel) {
  auto entry = jit->lookup(getEntryName(kernel.name));
  if (!entry)
    return entry.takeError();
  kernel.thread = entry->toPtr<void(void **)>();
  for (Variable &variable : kernel.variables) {
    if (variable.kind != Region::Kind::Constant)
      continue;
    auto address = jit->lookup(variable.symbol);
    if (!address)
      return address.takeError();
    variable.address = address->getValue();
  }
  return Error::success();
}

Expected<DeviceCode> DeviceCode::load(MemoryBufferRef text) {
  auto code = read(text, Checks::All);
  if (!code)
    return code;
  if (Error error = code->compile(to_vector(make_pointer_range(code->kernels))))
    return error;
  return code;
}
