// Element types, encodings as formats, and places in the file.
#include <fmt/format.h>

#include "linalg/parse/scope.h"
#include "tensor/limits.h"

namespace fuseflow {

namespace sparse = mlir::sparse_tensor;

Location place_of(mlir::Location where) {
  if (const auto at = where->findInstanceOf<mlir::FileLineColLoc>()) {
    return {at.getFilename().str(), static_cast<int>(at.getLine()),
            static_cast<int>(at.getColumn())};
  }
  return {};
}

namespace {

/// Whether a type or attribute has few parts, each counted as often as its text names it: aliases
/// make short files of long texts.
template <typename Part>
bool is_short(Part part) {
  constexpr int kMostParts = 100;
  std::vector<mlir::Type> types;
  std::vector<mlir::Attribute> attributes;
  const auto add_attribute = [&](mlir::Attribute a) { attributes.push_back(a); };
  const auto add_type = [&](mlir::Type t) { types.push_back(t); };
  part.walkImmediateSubElements(add_attribute, add_type);
  int parts = 0;
  while (!types.empty() || !attributes.empty()) {
    if (++parts > kMostParts) return false;
    if (!types.empty()) {
      const mlir::Type next = types.back();
      types.pop_back();
      if (next) next.walkImmediateSubElements(add_attribute, add_type);
    } else {
      const mlir::Attribute next = attributes.back();
      attributes.pop_back();
      if (next) next.walkImmediateSubElements(add_attribute, add_type);
    }
  }
  return true;
}

template <typename Part>
std::string short_text(Part part, const char* otherwise) {
  if (!part || !is_short(part)) return otherwise;
  std::string text;
  llvm::raw_string_ostream stream(text);
  part.print(stream);
  return text;
}

}  // namespace

std::string text_of(mlir::Type type) {
  return short_text(type, "(a long type)");
}

std::string text_of(const mlir::Diagnostic& message) {
  using Kind = mlir::DiagnosticArgument::DiagnosticArgumentKind;
  std::string text;
  for (const mlir::DiagnosticArgument& argument : message.getArguments()) {
    if (argument.getKind() == Kind::Type) {
      text += "'" + text_of(argument.getAsType()) + "'";
    } else if (argument.getKind() == Kind::Attribute) {
      text += short_text(argument.getAsAttribute(), "(a long attribute)");
    } else {
      llvm::raw_string_ostream stream(text);
      argument.print(stream);
    }
  }
  return text;
}

std::string name_of(mlir::Operation& op) {
  return op.getName().getStringRef().str();
}

void refuse(mlir::Operation& op, const std::string& why) {
  throw Error(ExitCode::rejected, place_of(op.getLoc()), name_of(op) + ": " + why);
}

ElementType element_type(mlir::Type type, mlir::Operation& op) {
  if (type.isF32()) return ElementType::f32;
  if (type.isF64()) return ElementType::f64;
  if (type.isF16()) return ElementType::f16;
  if (type.isBF16()) return ElementType::bf16;
  if (type.isFloat8E4M3FN()) return ElementType::f8e4m3;
  if (type.isFloat8E5M2()) return ElementType::f8e5m2;
  if (type.isInteger(1)) return ElementType::boolean;
  if (type.isUnsignedInteger(8)) return ElementType::u8;
  if (type.isInteger(8)) return ElementType::i8;
  if (type.isUnsignedInteger(16)) return ElementType::u16;
  if (type.isInteger(16)) return ElementType::i16;
  if (type.isInteger(32)) return ElementType::i32;
  if (type.isInteger(64) || type.isIndex()) return ElementType::i64;
  refuse(op, fmt::format("elements of type {}, expected f16, bf16, f32, f64, an f8 or an integer "
                         "of at most 64 bits",
                         text_of(type)));
}

void check_rank(size_t rank, mlir::Operation& op) {
  if (rank > kMaxRank)
    refuse(op, fmt::format("a tensor of {} dimensions, expected at most {}", rank, kMaxRank));
}

namespace {

LevelKind level_kind(sparse::LevelType level, mlir::Operation& op) {
  if (!sparse::isOrderedLT(level))
    refuse(op, "a level is nonordered, expected coordinates in order");
  if (sparse::isDenseLT(level)) return LevelKind::dense;
  if (sparse::isCompressedLT(level)) return LevelKind::compressed;
  if (sparse::isSingletonLT(level)) return LevelKind::singleton;
  refuse(op, fmt::format("levels '{}' of an encoding are none of ours, expected dense, compressed "
                         "or singleton",
                         sparse::toMLIRString(level)));
}

/// The dimension and the block size of a level: d (1), d floordiv 16 (16) or d mod 16 (-16).
std::pair<int, int64_t> level_place(mlir::AffineExpr expr, mlir::Operation& op) {
  if (const auto dim = llvm::dyn_cast<mlir::AffineDimExpr>(expr))
    return {static_cast<int>(dim.getPosition()), 1};
  const auto both = llvm::dyn_cast<mlir::AffineBinaryOpExpr>(expr);
  const auto dim = both ? llvm::dyn_cast<mlir::AffineDimExpr>(both.getLHS()) : nullptr;
  const auto size = both ? llvm::dyn_cast<mlir::AffineConstantExpr>(both.getRHS()) : nullptr;
  if (dim && size && size.getValue() > 0) {
    const auto position = static_cast<int>(dim.getPosition());
    if (expr.getKind() == mlir::AffineExprKind::FloorDiv) return {position, size.getValue()};
    if (expr.getKind() == mlir::AffineExprKind::Mod) return {position, -size.getValue()};
  }
  refuse(op, "a level of an encoding is neither a dimension d, nor d floordiv N, nor d mod N");
}

}  // namespace

std::optional<Format> format_of(mlir::RankedTensorType type, mlir::Operation& op) {
  const mlir::Attribute given = type.getEncoding();
  if (!given) return std::nullopt;
  const auto encoding = llvm::dyn_cast<sparse::SparseTensorEncodingAttr>(given);
  if (!encoding) refuse(op, "an encoding that is no sparse_tensor.encoding has no meaning here");
  if (encoding.getExplicitVal())
    refuse(op,
           "an encoding with explicitVal has no meaning here: the data have the values; leave "
           "it out");
  if (encoding.isSlice())
    refuse(op,
           "an encoding of a slice has no meaning here; take the part with "
           "tensor.extract_slice");
  Format format;
  std::vector<int64_t> block(static_cast<size_t>(type.getRank()), 1);
  bool inner = false;
  const mlir::AffineMap map = encoding.getDimToLvl();
  const auto levels = encoding.getLvlTypes();
  for (size_t l = 0; l < levels.size(); ++l) {
    const auto [dim, size] = map ? level_place(map.getResult(static_cast<unsigned>(l)), op)
                                 : std::pair<int, int64_t>{static_cast<int>(l), int64_t{1}};
    const LevelKind kind = level_kind(levels[l], op);
    if (size < 0) {  // inside of blocks
      if (kind != LevelKind::dense || block[static_cast<size_t>(dim)] != -size)
        refuse(op,
               "an encoding's blocks are not dense ones of d floordiv N, d mod N, with d mod N "
               "innermost");
      inner = true;
      continue;
    }
    if (inner) refuse(op, "an encoding has a level within its blocks");
    format.levels.push_back(kind);
    format.mode_order.push_back(dim);
    block[static_cast<size_t>(dim)] = size;
  }
  if (inner) format.block = block;
  try {
    check_format(format, static_cast<int>(type.getRank()));
  } catch (const Error& error) {
    refuse(op, fmt::format("an encoding that is no format of ours: {}", error.what()));
  }
  return format;
}

}  // namespace fuseflow
