//! How partials are written: numbers of seven bits a byte, the same bytes for the same content.

/// A partial that does not read as one: it is damaged, or of another version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a partial answer cannot be read: it is damaged")]
pub struct Damaged;

#[derive(Debug, Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    pub fn number(&mut self, number: impl Into<u128>) {
        let mut left = number.into();
        while left >= 0x80 {
            self.0.push((left & 0x7f) as u8 | 0x80);
            left >>= 7;
        }
        self.0.push(left as u8);
    }

    /// Small numbers of either sign stay short.
    pub fn signed(&mut self, number: i64) {
        self.number(((number << 1) ^ (number >> 63)) as u64);
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    pub fn end(self) -> Vec<u8> {
        self.0
    }
}

#[derive(Debug)]
pub struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    pub fn new(bytes: &'b [u8]) -> Self {
        Self(bytes)
    }

    pub fn number(&mut self) -> Result<u128, Damaged> {
        let mut number = 0_u128;
        for shift in (0..128).step_by(7) {
            let (byte, rest) = self.0.split_first().ok_or(Damaged)?;
            self.0 = rest;
            let bits = u128::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return Err(Damaged);
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Damaged)
    }

    pub fn small<T: TryFrom<u128>>(&mut self) -> Result<T, Damaged> {
        T::try_from(self.number()?).map_err(|_| Damaged)
    }

    pub fn signed(&mut self) -> Result<i64, Damaged> {
        let number: u64 = self.small()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    pub fn bytes(&mut self) -> Result<&'b [u8], Damaged> {
        let count: usize = self.small()?;
        let (bytes, rest) = self.0.split_at_checked(count).ok_or(Damaged)?;
        self.0 = rest;
        Ok(bytes)
    }

    /// Reads so many things as the next number says. Each takes a byte at least, which bounds what is set aside.
    pub fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Result<T, Damaged>) -> Result<Vec<T>, Damaged> {
        let count: usize = self.small()?;
        if count > self.0.len() {
            return Err(Damaged);
        }
        (0..count).map(|_| read(self)).collect()
    }

    /// Nothing may follow.
    pub fn end(self) -> Result<(), Damaged> {
        if self.0.is_empty() { Ok(()) } else { Err(Damaged) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let numbers = [0, 1, 127, 128, 300, u128::from(u64::MAX), u128::MAX];
        let signed = [0, 1, -1, 63, -64, 64, i64::MAX, i64::MIN];
        let mut writer = Writer::default();
        numbers.iter().for_each(|number| writer.number(*number));
        signed.iter().for_each(|number| writer.signed(*number));
        writer.bytes(b"abc");
        let bytes = writer.end();
        let mut reader = Reader::new(&bytes);
        assert!(numbers.iter().all(|number| reader.number() == Ok(*number)));
        assert!(signed.iter().all(|number| reader.signed() == Ok(*number)));
        assert_eq!(reader.bytes(), Ok(&b"abc"[..]));
        assert_eq!(reader.end(), Ok(()));
    }

    #[test]
    fn damage_is_noticed() {
        assert_eq!(Reader::new(&[]).number(), Err(Damaged));
        assert_eq!(Reader::new(&[0x80]).number(), Err(Damaged));
        assert_eq!(Reader::new(&[0xff; 20]).number(), Err(Damaged));
        assert_eq!(Reader::new(&[5, 1]).bytes(), Err(Damaged));
        assert_eq!(Reader::new(&[0xff, 0xff, 0xff, 0x7f]).list(Reader::number), Err(Damaged));
        assert_eq!(Reader::new(&[0x80, 0x02]).small::<u8>(), Err(Damaged));
        assert_eq!(Reader::new(&[1]).end(), Err(Damaged));
    }
}
