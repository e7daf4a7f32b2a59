cpdef tuple user_line(object frame)
