// Generators: fixed bytes, exact counts, the shapes of patterns, bad parameters.
#include "source_dir.h"
#include "tensor/generate.h"

#include <cmath>
#include <fstream>
#include <regex>
#include <sstream>

#include "tensor/stats.h"
#include "tensor_testing.h"

namespace fuseflow {
namespace {

using testing::checksum;
using testing::error_of;
using testing::expect_contains;

RawTensor made(const std::string& text,
               const std::optional<std::vector<int64_t>>& shape = std::nullopt) {
  return read_raw(parse_source(text), shape);
}

std::vector<float> elements(const std::string& text) {
  RawTensor raw = made(text);
  const Format format = default_format(raw);
  const Storage storage = to_storage(std::move(raw), format);
  verify(storage);
  return to_dense(storage);
}

std::string fault(const std::string& text,
                  const std::optional<std::vector<int64_t>>& shape = std::nullopt) {
  return error_of([&] { made(text, shape); });
}

uint64_t bytes_of(const std::string& text) {
  const RawTensor raw = made(text);
  const Coo* entries = std::get_if<Coo>(&raw.data);
  if (entries == nullptr) return checksum(std::get<Buffer<float>>(raw.data).to_vector());
  uint64_t hash = checksum(entries->values);
  for (const auto& column : entries->coords) hash = checksum(column, hash);
  return hash;
}

/// The same text must give the same bytes for ever: programs and published results name generators.
TEST(TensorGenerate, BytesNeverChange) {
  const std::vector<std::pair<std::string, uint64_t>> kFixed = {
      {"uniform(shape=[100,100],density=0.05,seed=1)", UINT64_C(0x47772e20743f5ef7)},
      {"uniform(shape=[20,20],density=0.5,values=normal(0,1),seed=2)",
       UINT64_C(0x9a94bc3de96026c6)},
      {"power_law(shape=[500,500],density=0.05,seed=3)", UINT64_C(0xff78ff0b1f057c68)},
      {"power_law(shape=[50,70],edges=1500,alpha=2.1,values=int(-3,3))",
       UINT64_C(0xd3e9e70b9dda6148)},
      {"rmat(shape=[200,200],edges=1000,seed=4)", UINT64_C(0x2488ae677a0ba6a2)},
      {"block_diagonal(shape=[64,64],block=16,density=0.3,seed=5)", UINT64_C(0x820060cab627ac61)},
      {"bigbird(shape=[2,128,128],block=16,seed=6)", UINT64_C(0xc395ec2d5cf83f25)},
      {"banded(shape=[30,30],lower=2,values=uniform(0,1),seed=7)", UINT64_C(0x00e1f68c0b876313)},
      {"sliding_window(shape=[64,64],window=8)", UINT64_C(0xcb2afbb6847d9c25)},
      {"causal(shape=[16,16])", UINT64_C(0x84602774ab1aaca5)},
      {"normal(shape=[1000],seed=8)", UINT64_C(0xa5823140b7681d69)},
      {"dense(shape=[10,10],values=uniform(-2,5),seed=9)", UINT64_C(0x1f662d80a5688366)},
      {"arange(shape=[100],start=0.1,step=0.3)", UINT64_C(0xd95ad6fced1499b9)},
  };
  for (const auto& [text, expected] : kFixed) {
    EXPECT_EQ(bytes_of(text), expected) << text;
    EXPECT_EQ(bytes_of(text), bytes_of(text)) << text;
  }
}

TEST(TensorGenerate, SeedsDiffer) {
  EXPECT_NE(bytes_of("uniform(shape=[50,50],density=0.1,seed=1)"),
            bytes_of("uniform(shape=[50,50],density=0.1,seed=2)"));
  EXPECT_EQ(bytes_of("uniform(shape=[50,50],density=0.1)"),
            bytes_of("uniform(shape=[50,50],density=0.1,seed=0)"));
}

TEST(TensorGenerate, DenseOnes) {
  EXPECT_EQ(elements("arange(shape=[2,2],start=1,step=0.5)"), (std::vector<float>{1, 1.5, 2, 2.5}));
  EXPECT_EQ(elements("ones(shape=[])"), (std::vector<float>{1}));
  EXPECT_EQ(elements("zeros(shape=[2])"), (std::vector<float>{0, 0}));
  EXPECT_EQ(elements("constant(shape=[2],value=-3)"), (std::vector<float>{-3, -3}));
  EXPECT_EQ(elements("dense(shape=[0,4])"), std::vector<float>());
  EXPECT_EQ(made("ones()", {{2, 3}}).shape, (std::vector<int64_t>{2, 3}));
}

TEST(TensorGenerate, Distributions) {
  const auto moments = [](const std::string& text) {
    double sum = 0;
    double squares = 0;
    const auto values = elements(text);
    for (const float v : values) {
      sum += v;
      squares += double{v} * v;
    }
    const double mean = sum / static_cast<double>(values.size());
    return std::pair{mean, std::sqrt(squares / static_cast<double>(values.size()) - mean * mean)};
  };
  const auto [mean, deviation] = moments("normal(shape=[200000],mean=3,std=2,seed=5)");
  EXPECT_NEAR(mean, 3, 0.02);
  EXPECT_NEAR(deviation, 2, 0.02);
  const auto [middle, spread] = moments("dense(shape=[200000],values=uniform(-1,1),seed=5)");
  EXPECT_NEAR(middle, 0, 0.01);
  EXPECT_NEAR(spread, 1 / std::sqrt(3.0), 0.01);
  for (const float v : elements("dense(shape=[10000],seed=1)"))
    EXPECT_TRUE(v > -1 && v < 1 && v != 0);
  std::vector<int> seen(7, 0);
  for (const float v : elements("dense(shape=[1000],values=int(-3,3))"))
    ++seen.at(static_cast<size_t>(v + 3));
  for (const int count : seen) EXPECT_GT(count, 90);
}

TEST(TensorGenerate, OwnFunctionsAgreeWithTheLibrary) {
  for (double x = 1e-300; x < 1e300; x *= 7.3) {
    EXPECT_NEAR(portable_log(x), std::log(x), 1e-13 * std::max(1.0, std::fabs(std::log(x))));
  }
  for (double x = -600; x < 600; x += 3.7) {
    EXPECT_NEAR(portable_exp(x) / std::exp(x), 1, 1e-12);
  }
}

TEST(TensorGenerate, CountsAreExact) {
  EXPECT_EQ(made("uniform(shape=[100,100],density=0.05,seed=1)").present(), 500);
  EXPECT_EQ(made("uniform(shape=[100,100],density=0.7,seed=1)").present(), 7000);
  EXPECT_EQ(made("uniform(shape=[10,10],density=0)").present(), 0);
  EXPECT_EQ(made("uniform(shape=[10,20,30],density=0.01)").present(), 60);
  EXPECT_EQ(made("uniform(shape=[1000],density=0.5)").present(), 500);
  EXPECT_FALSE(made("uniform(shape=[10,10],density=1)").sparse());
  for (const char* density : {"0.01", "0.05", "0.5", "0.9", "1"}) {
    const RawTensor raw =
        made(std::string("power_law(shape=[200,200],density=") + density + ",alpha=2.1)");
    EXPECT_EQ(raw.present(), std::llround(40000 * std::stod(density))) << density;
    verify(to_storage(raw, sparse_format(2)));
  }
  EXPECT_EQ(made("power_law(shape=[30,500],edges=700)").present(), 700);
  EXPECT_EQ(made("rmat(shape=[300,200],edges=2000)").present(), 2000);
  EXPECT_EQ(made("block_diagonal(shape=[100,100],block=25,density=0.5)").present(), 1250);
}

TEST(TensorGenerate, LargeGraphsAreSampledNotScanned) {
  const RawTensor raw = made("power_law(shape=[300000,300000],edges=1000000,seed=3)");
  const TensorStats stats = statistics(to_storage(raw, sparse_format(2)));
  EXPECT_EQ(stats.nonfill, 1000000);
  EXPECT_GT(stats.levels[1].longest_fiber, 1000);  // hubs: the mean degree is 3.3
  EXPECT_LT(stats.levels[1].longest_fiber, 100000);
  EXPECT_EQ(made("uniform(shape=[1000000,1000000],density=0.0000001)").present(), 100000);
}

TEST(TensorGenerate, BlockDiagonalAndBands) {
  EXPECT_EQ(elements("block_diagonal(shape=[3,3],block=2,values=ones)"),
            (std::vector<float>{1, 1, 0, 1, 1, 0, 0, 0, 1}));
  EXPECT_EQ(elements("causal(shape=[3,4])"),
            (std::vector<float>{1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0}));
  EXPECT_EQ(elements("banded(shape=[3,3],lower=0,upper=1,values=ones)"),
            (std::vector<float>{1, 1, 0, 0, 1, 1, 0, 0, 1}));
  EXPECT_EQ(elements("sliding_window(shape=[4,4],window=2)"),
            (std::vector<float>{1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1}));
  EXPECT_EQ(elements("sliding_window(shape=[3,3],window=2,causal=false)"),
            (std::vector<float>{1, 1, 0, 1, 1, 1, 0, 1, 1}));
  EXPECT_EQ(elements("causal(shape=[2,2,2])"), (std::vector<float>{1, 0, 1, 1, 1, 0, 1, 1}));
  EXPECT_EQ(elements("causal(shape=[0,4])"), std::vector<float>());
}

TEST(TensorGenerate, BigBirdKeepsWhatItsDefinitionSays) {
  const auto mask = elements("bigbird(shape=[160,160],block=10,random=2,seed=3)");
  const auto at = [](int row, int column) {
    return static_cast<size_t>(row) * 160 + static_cast<size_t>(column);
  };
  for (int bi = 0; bi < 16; ++bi) {
    int random_blocks = 0;
    for (int bj = 0; bj < 16; ++bj) {
      const bool kept = mask[at(bi * 10, bj * 10)] != 0;
      for (int i = 0; i < 10; ++i) {
        for (int j = 0; j < 10; ++j) {
          ASSERT_EQ(mask[at(bi * 10 + i, bj * 10 + j)], kept ? 1.0F : 0.0F);  // whole blocks
        }
      }
      const bool fixed = std::abs(bi - bj) <= 1 || bi < 2 || bj < 2;
      EXPECT_TRUE(kept || !fixed);
      random_blocks += kept && !fixed ? 1 : 0;
    }
    EXPECT_LE(random_blocks, 2);
  }
  // The published sparsities for 1024 x 1024: 86.5%, 74.4%, 53.6%.
  EXPECT_NEAR(made("bigbird(shape=[1024,1024],block=16)").density(), 0.135, 0.005);
  EXPECT_NEAR(made("bigbird(shape=[1024,1024],block=32)").density(), 0.256, 0.01);
  EXPECT_NEAR(made("bigbird(shape=[1024,1024],block=64)").density(), 0.464, 0.03);
}

TEST(TensorGenerate, RejectsBadParameters) {
  expect_contains(fault("uniform(shape=[4000000000,4000000000],density=0)"),
                  "2^62 elements or more");
  expect_contains(fault("uniform(density=0.1)"), "expected shape=[...]");
  expect_contains(fault("uniform(density=0.1)", {{-1, 4}}), "expected shape=[...]");
  expect_contains(fault("uniform(shape=[3,4],density=0.1)", {{4, 3}}),
                  "has shape [3,4], expected [4,3]");
  expect_contains(fault("uniform(shape=[3,4])"), "density=(absent), expected a number from 0 to 1");
  expect_contains(fault("uniform(shape=[3,4],density=2)"),
                  "density=2, expected a number from 0 to 1");
  expect_contains(fault("uniform(shape=[3,4],density=nan)"), "density=nan");
  expect_contains(fault("uniform(shape=3,density=1)"), "expected extents in brackets");
  expect_contains(fault("uniform(shape=[3,],density=1)"), "expected extents in brackets");
  expect_contains(fault("uniform(shape=[-3],density=1)"), "expected extents in brackets");
  expect_contains(fault("uniform(shape=[3],density=1,seed=x)"), "seed=x, expected a whole number");
  expect_contains(fault("uniform(shape=[],density=0.5)"), "expected at least 1");
  expect_contains(fault("causal(shape=[4])"), "expected at least 2");
  expect_contains(fault("ones(shape=[100000,100000])"), "expected at most 4294967294");
  expect_contains(fault("uniform(shape=[100000,100000],density=0.9)"),
                  "expected at most 4294967294");
  expect_contains(fault("causal(shape=[4000000000,4000000000])"), "expected at most");
  expect_contains(fault("bigbird(shape=[4000000000,4000000000],block=4096)"), "expected at most");
  expect_contains(fault("power_law(shape=[10,10],edges=101)"),
                  "expected a whole number from 0 to 100");
  expect_contains(fault("power_law(shape=[10,10],edges=1,density=0.1)"), "not both");
  expect_contains(fault("power_law(shape=[10,10],edges=1,alpha=1)"), "alpha=1, expected");
  expect_contains(fault("rmat(shape=[64,64],edges=4096,a=1,b=0,c=0)"), "expected fewer edges");
  expect_contains(fault("rmat(shape=[64,64],edges=40,a=0.9,b=0.9)"), "a + b + c of at most 1");
  expect_contains(fault("block_diagonal(shape=[8,8])"), "block=(absent), expected a block extent");
  expect_contains(fault("sliding_window(shape=[8,8],causal=maybe)"), "expected true or false");
  for (const char* bad : {"two", "uniform(1)", "uniform(2,1)", "int(0.5,1)", "int", "normal(0,-1)",
                          "uniform(a,b)", "constant", "ones(1)", "uniform(1,1e99)"}) {
    expect_contains(fault(std::string("dense(shape=[2],values=") + bad + ")"),
                    "expected ones, constant(c)");
  }
  expect_contains(fault("dense(shape=[2],values=uniform(0,1)2)"), "text after the closing bracket");
}

/// The names in code spans of a cell of a table.
std::vector<std::string> spans(const std::string& cell) {
  static const std::regex kSpan("`(\\w+)`");
  std::vector<std::string> found;
  for (std::sregex_iterator at(cell.begin(), cell.end(), kSpan), end; at != end; ++at) {
    found.push_back((*at)[1]);
  }
  return found;
}

/// The specification lists each generator with its keys, and no other.
TEST(Generate, TheSpecificationListsEachWithItsKeys) {
  std::ifstream file(source_dir() + "/ir-spec/language.md");
  std::stringstream all;
  all << file.rdbuf();
  const std::string text = all.str();
  const size_t begin = text.find("| generator | keys |");
  ASSERT_NE(begin, std::string::npos);
  std::stringstream table(text.substr(begin, text.find("\n\n", begin) - begin));
  std::string names;
  for (std::string line; std::getline(table, line);) {
    const size_t name = line.find('|'), keys = line.find('|', name + 1);
    const std::vector<std::string> listed =
        spans(line.substr(keys, line.find('|', keys + 1) - keys));
    for (const std::string& generator : spans(line.substr(name, keys - name))) {
      const std::vector<std::string_view>& expected = find_generator(generator).keys;
      EXPECT_EQ(listed, std::vector<std::string>(expected.begin(), expected.end())) << generator;
      names += (names.empty() ? "" : ", ") + generator;
    }
  }
  expect_contains(error_of([] { find_generator("none of them"); }), "a generator: " + names);
}

}  // namespace
}  // namespace fuseflow
