"""torch_files.py pieces <WORDS >F.spm           a SentencePiece model of words and of their letters
torch_files.py torch HF OUT                    a folder of MarianMT in every form of torch.save, OUT/NAME each
torch_files.py npz MARIAN OUT                  a folder of Marian in every form of numpy.savez
torch_files.py resize HF OUT                   MarianMT with two more tokens, as transformers adds them
torch_files.py score HF <PAIRS                 log-probabilities of PAIRS (source, tab, target) by transformers

The weights are read by the few lines below and saved by torch and numpy, so that what rapt reads was written by them."""
import collections
import json
import os
import shutil
import struct
import sys

import numpy as np


def piece(text, kind):
    data = text.encode()
    inside = b"\x0a" + bytes([len(data)]) + data + b"\x18" + bytes([kind])
    return b"\x0a" + bytes([len(inside)]) + inside


def pieces():
    words = sorted(set(sys.stdin.read().split()))
    letters = sorted(set("".join(words)) | {"\u2581"})
    texts = dict.fromkeys(["\u2581" + word for word in words] + letters)
    sys.stdout.buffer.write(piece("</s>", 3) + piece("<unk>", 2) + b"".join(piece(text, 1) for text in texts))


def read_safetensors(path):
    data = open(path, "rb").read()
    size, = struct.unpack_from("<Q", data)
    entries = json.loads(data[8:8 + size])
    entries.pop("__metadata__", None)
    return {name: np.frombuffer(data, "<f4", offset=8 + size + entry["data_offsets"][0],
                                count=int(np.prod(entry["shape"], dtype=int))).reshape(entry["shape"]).copy()
            for name, entry in entries.items()}


def read_marian(path):
    """Arrays by name, and the texts among them as bytes: binary.cpp of Marian."""
    data = open(path, "rb").read()
    version, count = struct.unpack_from("<QQ", data)
    assert version == 1
    headers = [struct.unpack_from("<QQQQ", data, 16 + 32 * i) for i in range(count)]
    at = 16 + 32 * count
    names, shapes, found = [], [], {}
    for length, _, _, _ in headers:
        names.append(data[at:at + length - 1].decode())
        at += length
    for _, _, rank, _ in headers:
        shapes.append(struct.unpack_from(f"<{rank}i", data, at))
        at += 4 * rank
    at += 8 + struct.unpack_from("<Q", data, at)[0]
    for name, shape, (_, kind, _, size) in zip(names, shapes, headers):
        text = name.startswith("special:")
        found[name] = data[at:at + size].rstrip(b"\0") if text else np.frombuffer(
            data, "<f4", count=int(np.prod(shape, dtype=int)), offset=at).reshape(shape).copy()
        assert text or kind == 0x404
        at += size
    return found


def copy_beside(source, to, leave):
    os.makedirs(to)
    for name in os.listdir(source):
        if name != leave:
            shutil.copy(os.path.join(source, name), to)


def sinusoids(config):
    width, count = config["d_model"], config["max_position_embeddings"]
    angles = np.arange(count)[:, None] / np.power(10000, 2 * np.arange(width // 2) / width)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)


def torch_forms(folder, out):
    import torch
    weights = {name: torch.from_numpy(array)
               for name, array in read_safetensors(os.path.join(folder, "model.safetensors")).items()}
    config = json.load(open(os.path.join(folder, "config.json")))
    # As in MarianMT, one storage has several names, and the pad token's bias is not learned.
    state = collections.OrderedDict(weights)
    for name in ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight"):
        state[name] = state["model.shared.weight"]
    state._metadata = collections.OrderedDict([("", {"version": 1}), ("model", {"version": 1})])
    positions = {f"model.{side}.embed_positions.weight": torch.from_numpy(sinusoids(config))
                 for side in ("encoder", "decoder")}
    state.update(positions)
    parameters = {name: torch.nn.Parameter(tensor) for name, tensor in state.items()}
    optimizer = torch.optim.Adam(parameters.values())
    sum(tensor.sum() for tensor in parameters.values()).backward()
    beside = {"epoch": 3, "loss": 0.25, "best": None, "done": True, "name": "run", "seed": 2 ** 80, "steps": [1, [2.5]],
              "optimizer": optimizer.state_dict(), "rng": torch.get_rng_state()}

    def save(name, value, file="pytorch_model.bin", **options):
        to = os.path.join(out, name)
        if not os.path.isdir(to):
            copy_beside(folder, to, "model.safetensors")
        torch.save(value, os.path.join(to, file), **options)

    def shards(name, **options):
        names, index = sorted(state), {}
        for i in range(2):
            file = f"pytorch_model-0000{i + 1}-of-00002.bin"
            part = {key: state[key] for key in names[i::2]}
            index.update({key: file for key in part})
            save(name, part, file, **options)
        with open(os.path.join(out, name, "pytorch_model.bin.index.json"), "w") as file:
            json.dump({"metadata": {"total_size": 1}, "weight_map": index}, file)

    for protocol in (2, 3, 4, 5):
        save(f"zip{protocol}", state, pickle_protocol=protocol)
        save(f"legacy{protocol}", state, pickle_protocol=protocol, _use_new_zipfile_serialization=False)
    save("parameters", parameters)
    save("parameters-legacy4", parameters, pickle_protocol=4, _use_new_zipfile_serialization=False)
    save("transposed", {name: tensor.t().contiguous().t() if tensor.dim() == 2 else tensor
                        for name, tensor in state.items()}, _use_new_zipfile_serialization=False)
    for key in ("model", "state_dict", "model_state_dict"):
        save(f"beside-{key}", {**beside, key: state})
        save(f"beside-{key}-legacy", {**beside, key: state}, _use_new_zipfile_serialization=False)
    shards("shards")
    shards("shards-legacy", _use_new_zipfile_serialization=False)
    half = {name: tensor.half() for name, tensor in state.items()}
    save("half", half)
    save("half-legacy", half, _use_new_zipfile_serialization=False)


def npz_forms(folder, out):
    found = read_marian(os.path.join(folder, "model.bin"))
    forms = {
        "c": lambda array: array,
        "fortran": np.asfortranarray,
        "big-endian": lambda array: array.astype(">f4"),
        "both": lambda array: np.asfortranarray(array.astype(">f4")),
        "double": lambda array: array.astype(">f8"),
    }
    texts = {
        "int8": lambda text: np.frombuffer(text + b"\0", np.int8),
        "uint8": lambda text: np.frombuffer(text, np.uint8),
        "bytes": np.bytes_,
        "void": np.void,
    }
    rows = [(form, "int8", np.savez) for form in forms] + [("c", text, np.savez) for text in texts]
    for form, text, write in rows + [("both", "bytes", np.savez_compressed)]:
        to = os.path.join(out, f"{form}-{text}-{write.__name__}")
        if os.path.isdir(to):
            continue
        copy_beside(folder, to, "model.bin")
        write(os.path.join(to, "model.npz"), **{
            name: texts[text](value) if isinstance(value, bytes) else forms[form](value)
            for name, value in found.items()})


def resize(folder, out):
    from transformers import MarianMTModel, MarianTokenizer
    tokenizer = MarianTokenizer.from_pretrained(folder)
    model = MarianMTModel.from_pretrained(folder)
    tokenizer.add_tokens(["<first>", "<second>"])
    model.resize_token_embeddings(len(tokenizer))
    model.save_pretrained(out, safe_serialization=True)
    tokenizer.save_pretrained(out)


def score(folder):
    import torch
    from transformers import MarianMTModel, MarianTokenizer
    tokenizer = MarianTokenizer.from_pretrained(folder)
    model = MarianMTModel.from_pretrained(folder).float().eval()
    start, pad = model.config.decoder_start_token_id, model.config.pad_token_id
    for line in sys.stdin:
        source, target = line.rstrip("\n").split("\t")
        inputs = tokenizer([source], return_tensors="pt")
        ids = tokenizer(text_target=[target], return_tensors="pt")["input_ids"][0]
        given = torch.cat([torch.tensor([start]), ids[:-1]])[None]
        with torch.no_grad():
            logits = model(**inputs, decoder_input_ids=given).logits[0]
        logits[:, pad] = -float("inf")
        chosen = torch.log_softmax(logits.double(), 1).gather(1, ids[:, None])
        print(f"{chosen.sum().item():.6f}")


if __name__ == "__main__":
    {"pieces": pieces, "torch": torch_forms, "npz": npz_forms, "resize": resize, "score": score}[sys.argv[1]](*sys.argv[2:])
